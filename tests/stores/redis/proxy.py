"""A proxy that cuts a connection between a request and its reply."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from holdfast.engine.operations import Operation
from holdfast.stores.redis import RedisStore
from holdfast.stores.redis.script_loader import script
from holdfast.stores.redis.verbs.plans import HELPER_SCRIPTS, VERBS
from holdfast.testing.clock import ManualClock
from tests.servers.redis import RedisServer, new_namespace


def nothing() -> None:
    """The default for `meanwhile`."""


class Proxy:
    """Forwards bytes in both directions, except for one reply: see `cut_at`."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.swallowed: list[bytes] = []
        """The replies that were not forwarded."""
        self.held_back: list[bytes] = []
        """The requests that were not forwarded."""
        self._cut_text: bytes | None = None
        self._withheld_text: bytes | None = None
        self._meanwhile: Callable[[], object] = nothing
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, text: str, meanwhile: Callable[[], object] = nothing) -> None:
        """Forward the next request that contains this text, wait for the reply, and close the connection instead.

        `meanwhile` is called in between: after the server performed the request, and before it is sent again.
        """
        self._cut_text, self._meanwhile = text.encode(), meanwhile

    def cut_before(self, text: str) -> None:
        """Close the connection instead of forwarding the next request that contains this text."""
        self._withheld_text = text.encode()

    def let_arrive(self) -> None:
        """Send a request that was held back to the server now, and discard the reply."""
        with socket.socket(socket.AF_UNIX) as late:
            late.connect(str(self._server))
            late.sendall(self.held_back.pop())
            assert not late.recv(1 << 20).startswith(b"-")

    def close(self) -> None:
        self._listener.close()
        for pair in self._pairs:
            _close(*pair)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                self._pairs.append((client, server))
                cutting = threading.Event()
                for way in (self._requests, self._answers):
                    threading.Thread(target=way, args=(client, server, cutting), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, cutting: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if self._withheld_text is not None and self._withheld_text in data:
                    self._withheld_text = None
                    self.held_back.append(data)
                    break
                if self._cut_text is not None and self._cut_text in data:
                    self._cut_text = None
                    cutting.set()
                server.sendall(data)
        _close(client, server)

    def _answers(self, client: socket.socket, server: socket.socket, cutting: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 20):
                if cutting.is_set():
                    self.swallowed.append(data)
                    self._meanwhile()
                    break
                client.sendall(data)
        _close(client, server)


def _close(*ends: socket.socket) -> None:
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


@contextlib.contextmanager
def by_proxy(server: RedisServer) -> Generator[tuple[Proxy, RedisStore, RedisStore, ManualClock]]:
    """A proxy, a store that connects through it, and a store of the same namespace that connects directly."""
    namespace, clock = new_namespace(), ManualClock()
    with proxy_to(server.socket) as proxy:
        far = RedisStore(server.tcp_address(namespace, port=proxy.port), clock=clock)
        near = RedisStore(server.address(namespace), clock=clock)
        far.open_sync()
        near.open_sync()
        with server.connect() as client:
            # Load every script first, so that the request that is cut off runs and does not get NOSCRIPT.
            for verb in (*VERBS, *HELPER_SCRIPTS):
                client.script_load(script(verb, script_flags=far._features.script_flags).source)  # pyright: ignore[reportPrivateUsage]
        yield proxy, far, near, clock
        far.close_sync()
        near.close_sync()


def cut_off(
    proxy: Proxy, store: RedisStore, operation: Operation[Any], *, at: str, meanwhile: Callable[[], object] = nothing
) -> Any:
    """The result of an operation whose script ran and whose first reply was lost."""
    proxy.cut_at(sha_of(store, at), meanwhile)
    answer = store.perform_sync(operation)
    (swallowed,) = proxy.swallowed
    assert not swallowed.startswith(b"-"), "the script did not run"
    return answer


def sha_of(store: RedisStore, verb: str) -> str:
    return script(verb, script_flags=store._features.script_flags).sha  # pyright: ignore[reportPrivateUsage]
