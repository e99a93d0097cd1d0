"""A TCP proxy to the server that fails on demand: it stops answering, or cuts a connection before an answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator


class Proxy:
    """Forwards bytes in both directions."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._silent = threading.Event()
        self._pattern: bytes | None = None
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def stop_answering(self) -> None:
        """Accept and acknowledge everything, forward nothing: a half-open connection."""
        self._silent.set()

    def answer_again(self) -> None:
        self._silent.clear()
        self.cut_all()

    def cut_after(self, pattern: bytes) -> None:
        """Forward the next request that contains the pattern, and cut the connection before its answer."""
        self._pattern = pattern

    def cut_all(self) -> None:
        """Cut every connection."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _close(*pair)

    def close(self) -> None:
        self._listener.close()
        self.cut_all()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._pairs.append((client, server))
                cut_next_answer = threading.Event()
                threading.Thread(target=self._pass, args=(client, server, cut_next_answer, True), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, cut_next_answer, False), daemon=True).start()

    def _pass(
        self, source: socket.socket, target: socket.socket, cut_next_answer: threading.Event, is_request: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                if self._silent.is_set():
                    continue
                if is_request and self._pattern is not None and self._pattern in data:
                    self._pattern = None
                    cut_next_answer.set()
                elif not is_request and cut_next_answer.is_set():
                    self.cuts += 1
                    break
                target.sendall(data)
        if not self._silent.is_set():
            _close(source, target)


def _close(*ends: socket.socket) -> None:
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
