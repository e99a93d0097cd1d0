"""A way to the server that fails on demand: between a request and its answer, where it hurts most."""

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
    """What happens meanwhile, unless a test wants something."""


class Proxy:
    """Passes bytes both ways, but for one answer: see `cut_at`."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.swallowed: list[bytes] = []
        """The answers that nobody got."""
        self.held_back: list[bytes] = []
        """The requests that never arrived."""
        self._word: bytes | None = None
        self._withheld: bytes | None = None
        self._meanwhile: Callable[[], object] = nothing
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, word: str, meanwhile: Callable[[], object] = nothing) -> None:
        """Let the next request with this word reach the server, wait for its answer, and hang up instead of passing it.

        `meanwhile` is called in between: after the server did what it was asked, before it is asked again.
        """
        self._word, self._meanwhile = word.encode(), meanwhile

    def cut_before(self, word: str) -> None:
        """Hang up instead of passing the next request with this word: the server never hears of it."""
        self._withheld = word.encode()

    def let_arrive(self) -> None:
        """Have the server hear, late, of a request that was held back, and answer it to nobody."""
        with socket.socket(socket.AF_UNIX) as late:
            late.connect(str(self._server))
            late.sendall(self.held_back.pop())
            assert not late.recv(1 << 20).startswith(b"-")

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
                cutting = threading.Event()
                for way in (self._requests, self._answers):
                    threading.Thread(target=way, args=(client, server, cutting), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, cutting: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if self._withheld is not None and self._withheld in data:
                    self._withheld = None
                    self.held_back.append(data)
                    break
                if self._word is not None and self._word in data:
                    self._word = None
                    cutting.set()
                server.sendall(data)
        _hang_up(client, server)

    def _answers(self, client: socket.socket, server: socket.socket, cutting: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 20):
                if cutting.is_set():
                    self.swallowed.append(data)
                    self._meanwhile()
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


@contextlib.contextmanager
def by_proxy(server: RedisServer) -> Generator[tuple[Proxy, RedisStore, RedisStore, ManualClock]]:
    """A proxy, a store that reaches the server through it, and another of the same namespace that does without."""
    namespace, clock = new_namespace(), ManualClock()
    with proxy_to(server.socket) as proxy:
        far = RedisStore(server.tcp_address(namespace, port=proxy.port), clock=clock)
        near = RedisStore(server.address(namespace), clock=clock)
        far.open_sync()
        near.open_sync()
        with server.connect() as client:
            # The server knows every script, so that the request that is cut off is one that was carried out.
            for verb in (*VERBS, *HELPER_SCRIPTS):
                client.script_load(script(verb, script_flags=far._features.script_flags).source)  # pyright: ignore[reportPrivateUsage]
        yield proxy, far, near, clock
        far.close_sync()
        near.close_sync()


def cut_off(
    proxy: Proxy, store: RedisStore, operation: Operation[Any], *, at: str, meanwhile: Callable[[], object] = nothing
) -> Any:
    """The answer to an operation whose script ran and whose first answer nobody got."""
    proxy.cut_at(sha_of(store, at), meanwhile)
    answer = store.perform_sync(operation)
    (swallowed,) = proxy.swallowed
    assert not swallowed.startswith(b"-"), "the script did not run"
    return answer


def sha_of(store: RedisStore, verb: str) -> str:
    return script(verb, script_flags=store._features.script_flags).sha  # pyright: ignore[reportPrivateUsage]
