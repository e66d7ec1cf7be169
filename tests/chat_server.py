"""A stand-in for a server of OpenAI's chat completions, well-behaved or not."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StandIn:
    """Answers chat completions with what it is told, and remembers what it was sent."""

    def __init__(self, reply):
        self.reply = reply
        self.bodies, self.keys = [], []
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.bodies.append(body)
                outer.keys.append(self.headers["authorization"])
                assert self.path == "/v1/chat/completions"
                said = outer.reply(len(outer.bodies), body)
                if callable(said):
                    said(self, outer.over)
                    return
                status, content = said
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                # What the client waits for before it asks again.
                self.send_header("retry-after-ms", "20")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def said(text, reason="stop", tokens=7):
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens}
    completion = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    completion |= {"choices": [{**choice, "finish_reason": reason}], "usage": usage}
    return 200, json.dumps(completion).encode()


def hang(handler, over):
    handler.close_connection = True
    over.wait(60)


def drip(handler, over):
    """A byte now and then, for ever."""
    handler.send_response(200)
    handler.send_header("content-length", "1000000")
    handler.end_headers()
    handler.close_connection = True
    while not over.wait(0.1):
        try:
            handler.wfile.write(b" ")
        except OSError:
            return
