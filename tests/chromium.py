"""A headless Chromium that tests look at pages with, through its DevTools pipe."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

PROGRAM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
        if (found := shutil.which(name))
    ),
    None,
)
needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="no chromium or chrome on the path")


# The browser reads commands from descriptor 3 and answers on 4.
_LAUNCHER = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One process with one tab. What goes wrong in a page is in `complaints`."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, commands = os.pipe()
        answers, from_browser = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _LAUNCHER,
                str(to_browser),
                str(from_browser),
                PROGRAM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                f"--user-data-dir={self._profile.name}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._number = 0
        self._session = None
        self.complaints = []
        self.requests = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        """End the process."""
        self.send("Browser.close")
        self._process.wait(timeout=30)
        self._commands.close()
        self._answers.close()
        self._profile.cleanup()

    def send(self, method, **params):
        """Have the browser do something, and give its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def _next(self):
        message = bytearray()
        while (byte := self._answers.read1(1)) != b"\0":
            assert byte, "the browser is gone"
            message += byte
        event = json.loads(message)
        self._note(event.get("method"), event.get("params"))
        return event

    def _note(self, method, params):
        if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.complaints.append(params)
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(params)
            raise AssertionError(params)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, path, fragment="", *, width=1280, height=900, dark=False):
        """Load a page anew."""
        self.complaints.clear()
        self.requests.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=f"{path.as_uri()}{fragment}")
        self.evaluate(
            "new Promise((done) => document.readyState === 'complete' ? done() :"
            " addEventListener('load', done))"
        )

    def evaluate(self, expression):
        """The value of an expression in the page; a promise is waited for."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def settle(self):
        """Wait until what was begun has been shown."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def click(self, selector):
        """Press and release the left button in the middle of an element."""
        x, y = self.evaluate(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def press(self, *keys):
        """Press and release keys."""
        for key in keys:
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def screenshot(self, path):
        """Write what is shown as a PNG."""
        self.settle()
        shot = self.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))
