"""A way to the server that fails on demand: silent, or cut between a commit and its answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator


class Proxy:
    """Passes bytes both ways, until told otherwise."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._silent = threading.Event()
        self._pattern: bytes | None = None
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self) -> None:
        """Accept and acknowledge everything, answer nothing: a half-open connection."""
        self._silent.set()

    def speak(self) -> None:
        self._silent.clear()
        self.hang_up()

    def cut_after(self, pattern: bytes) -> None:
        """Pass on the next request that contains this, and cut the connection instead of its answer."""
        self._pattern = pattern

    def hang_up(self) -> None:
        """Cut every connection."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _hang_up(*pair)

    def close(self) -> None:
        self._listener.close()
        self.hang_up()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._pairs.append((client, server))
                deletable = threading.Event()
                threading.Thread(target=self._pass, args=(client, server, deletable, True), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, deletable, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, deletable: threading.Event, asking: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                if self._silent.is_set():
                    continue
                if asking and self._pattern is not None and self._pattern in data:
                    self._pattern = None
                    deletable.set()
                elif not asking and deletable.is_set():
                    self.cuts += 1
                    break
                target.sendall(data)
        if not self._silent.is_set():
            _hang_up(source, target)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextlib.contextmanager
def proxy_to(port: int) -> Generator[Proxy]:
    """A proxy until the end of the block."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
