"""A way to the server that fails on demand: between a request and its answer, where it hurts most."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator
from pathlib import Path


class Proxy:
    """Passes bytes both ways. `cut_after` requests it hears one more, and cuts the connection before the answer."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._cut_in: int | None = None
        self.cuts = 0
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, requests: int) -> None:
        self._cut_in = requests

    def close(self) -> None:
        self._listener.close()
        for pair in self._pairs:
            _hang_up(*pair)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                self._pairs.append((client, server))
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answers, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if b"EVALSHA" in data and self._cut_in is not None:
                    self._cut_in -= 1
                    if self._cut_in < 0:
                        self._cut_in = None
                        self._swallow_answer(server, data)
                        break
                server.sendall(data)
        _hang_up(client, server)

    def _swallow_answer(self, server: socket.socket, request: bytes) -> None:
        # The answering thread stands in recv on the same socket: it is told to drop what comes.
        self._dropping = server
        server.sendall(request)
        self._dropped.wait(5)
        self.cuts += 1

    _dropping: socket.socket | None = None
    _dropped = threading.Event()

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 20):
                if self._dropping is server:
                    self._dropped.set()
                    break
                client.sendall(data)
        _hang_up(client, server)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextlib.contextmanager
def proxy_to(server: Path) -> Generator[Proxy]:
    """A proxy until the end of the block."""
    proxy = Proxy(server)
    try:
        yield proxy
    finally:
        proxy.close()
