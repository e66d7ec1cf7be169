"""Sessions with a server of TVM's RPC: how one is had, what was sent there, how it ends.

TVM's server serves one session at a time, and a session that hangs would keep it for ever. So
every session has a time limit, at which the server itself ends it. A server does not outlive a
kernel that kills the process of its session: it still takes connections and never answers. So it
is asked for an answer before TVM's own `connect`, which would wait for ever.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
import tvm
from tvm import rpc
from tvm.error import RPCSessionTimeoutError
from tvm.rpc import base

NO_SERVER = "no RPC server"
"""How the reason of a result begins that says nothing about its candidate."""


class NoServerError(RuntimeError):
    """No server gives a session. Start it, or start it again."""


class Server(NamedTuple):
    """Where a device is.

    >>> str(Server.parse("board:9190", "rock5"))
    'board:9190 (rock5)'
    """

    host: str
    port: int
    key: str = ""
    """If there is one, the address is that of a tracker, which knows servers of this key."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" + (f" ({self.key})" if self.key else "")

    @classmethod
    def parse(cls, address: str, key: str = "") -> Server:
        """Read `HOST:PORT`.

        Raises:
            ValueError: the address is none.
        """
        host, colon, port = address.rpartition(":")
        if not (host and colon and port.isdecimal()):
            raise ValueError(f"an address is HOST:PORT, not {address!r}")
        return cls(host, int(port), key)


class RemoteArray:
    """A tensor kept here; the session that needs it has a copy."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor.to("cpu", copy=True).contiguous()


class Library:
    """A library kept here; the session that needs it has a copy."""

    def __init__(self, content: bytes) -> None:
        self.content = content


class Session:
    """A connection and what was sent through it; it ends when nothing refers to it any more.

    Args:
        server: where the device is.
        device: `cpu` or `cuda`.
        seconds: how long to wait for the session, and the age at which the server ends it.

    Raises:
        NoServerError: there is no server, or it does not answer in time.
    """

    def __init__(self, server: Server, device: str, seconds: float) -> None:
        self._server, self._device, self._seconds = server, device, seconds
        self._remote = _connect(server, seconds)
        self._begun = time.monotonic()
        self._files = 0
        self._arrays: WeakKeyDictionary[RemoteArray, Any] = WeakKeyDictionary()
        self._modules: WeakKeyDictionary[Library, Any] = WeakKeyDictionary()
        self.device = self._remote.device(device)
        if not self.device.exist:
            raise NoServerError(f"{NO_SERVER} at {server} has a {device} device")

    @property
    def age(self) -> float:
        """The seconds since it was opened."""
        return time.monotonic() - self._begun

    def card(self) -> str:
        """The name of the device, as far as the server knows it, and where it is."""
        return f"{self.device.device_name or self._device} behind RPC at {self._server}"

    def array(self, array: RemoteArray) -> Any:
        """Return the copy of an array, which is sent if it has not been."""
        return self._arrays[array] if array in self._arrays else self.send(array)

    def send(self, array: RemoteArray) -> Any:
        """Return the copy of an array, made what the array is here."""
        content = tvm.runtime.from_dlpack(array.tensor)
        sent = self._arrays.get(array)
        if sent is None:
            sent = tvm.runtime.empty(tuple(content.shape), content.dtype, self.device)
            self._arrays[array] = sent
        content.copyto(sent)
        return sent

    def module(self, library: Library) -> Any:
        """Return the loaded library, which is sent if it has not been."""
        if library not in self._modules:
            self._files += 1
            name = f"{self._files}.so"
            self._remote.upload(bytearray(library.content), name)
            self._modules[library] = self._remote.load_module(name)
            # It is mapped; the file is in the way only.
            self._remote.remove(name)
        return self._modules[library]

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Say plainly what became of a call that fails in this context.

        Raises:
            RuntimeError: what the server says, or that the session ended.
        """
        try:
            yield
        except RPCSessionTimeoutError as error:
            raise RuntimeError(f"took longer than {self._seconds:g} s") from error
        except Exception as error:
            if self._is_open():
                raise
            raise RuntimeError(f"the session at {self._server} broke off: {error}") from error

    def _is_open(self) -> bool:
        try:
            self._remote.get_function("tvm.rpc.server.remove")
        except Exception:
            return False
        return True


def _connect(server: Server, seconds: float) -> Any:
    try:
        if not server.key:
            _require_answer(server, seconds)
            return rpc.connect(server.host, server.port, session_timeout=seconds)
        # TVM's own `connect_tracker` tries for a minute.
        socket.create_connection((server.host, server.port), timeout=seconds).close()
        tracker = rpc.connect_tracker(server.host, server.port)
        _require_free(tracker, server.key, seconds)
        return tracker.request(server.key, session_timeout=seconds)
    except (OSError, RuntimeError) as error:
        raise NoServerError(f"{NO_SERVER} serves at {server}: {error}") from error


def _require_answer(server: Server, seconds: float) -> None:
    """Ask for a session with a key that no server has: it is refused, and that is an answer.

    TVM's own `connect` has no time limit. A session of somebody else ends before there is an
    answer.
    """
    key = b"client:is-there-anybody"
    with socket.create_connection((server.host, server.port), timeout=seconds) as pipe:
        pipe.sendall(struct.pack("<ii", base.RPC_MAGIC, len(key)) + key)
        (answer,) = struct.unpack("<i", base.recvall(pipe, 4))
    if answer != base.RPC_CODE_MISMATCH:
        raise OSError("what answers there is something else")


def _require_free(tracker: Any, key: str, seconds: float) -> None:
    """Wait until a tracker has a free server; its own `request` has no time limit."""
    end = time.monotonic() + seconds
    while not tracker.summary()["queue_info"].get(key, {}).get("free"):
        if time.monotonic() > end:
            raise OSError(f"the tracker has no free server of the key {key!r}")
        time.sleep(0.2)
