"""A TCP proxy that injects faults: delays, stalls, resets, dead connections, and lost answers to requests."""

from __future__ import annotations

import contextlib
import random
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Collection, Iterable
from typing import Literal

Mode = Literal["pass", "delay", "stall", "refuse"]
Pair = tuple[socket.socket, socket.socket]


class Proxy:
    """Passes bytes between clients and one server. A mode applies to all connections, a cut to one at a time."""

    def __init__(self, server: tuple[str, int], seed: int = 0) -> None:
        self.server = server
        """The address to which new connections are forwarded."""
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.mode: Mode = "pass"
        self.delay = 0.0
        self._cuts = 0
        self._cut_at = re.compile(b"")
        self.cut = 0
        """Number of answers that were cut off."""
        self.hindered = 0
        """How often bytes were delayed, or a connection was refused."""
        self.dead = 0
        """Number of connections that went dead."""
        self.given_up = 0
        """Number of dead connections that a client used and then closed without an answer."""
        self.lost = 0
        """Number of connections whose client disappeared without FIN or reset."""
        self.accepted = 0
        self.most = 0
        """Largest number of simultaneous connections."""
        self._lock = threading.Lock()
        self._pairs: set[Pair] = set()
        self._dead: set[Pair] = set()
        self._lost: set[Pair] = set()
        self._closed = False
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut_answers(self, number: int, like: bytes = b"") -> None:
        """Forward the next `number` requests that match, and close each connection instead of sending the answer."""
        with self._lock:
            self._cuts, self._cut_at = number, re.compile(like, re.DOTALL | re.IGNORECASE)

    def deaden(self, share: float) -> int:
        """Make about this share of the current connections dead; returns how many.

        The proxy discards what either end of a dead connection sends, and forwards neither FIN nor reset, until the
        client closes it. Later connections are not affected.
        """
        with self._lock:
            dying = {pair for pair in self._pairs - self._dead if self._random.random() < share}
            self._dead |= dying
            self.dead += len(dying)
        return len(dying)

    def client_of(self, port: int) -> int | None:
        """The port of the client whose bytes reach the server from this port."""
        with self._lock:
            return next((_far(client) for client, server in self._pairs if _near(server) == port), None)

    def lose(self, ports: Collection[int]) -> set[Pair]:
        """Make the clients at these ports disappear; returns their connections.

        The server receives nothing more from them, neither bytes nor FIN nor reset, until `release`.
        """
        with self._lock:
            lost = {pair for pair in self._pairs if _far(pair[0]) in ports}
            self._lost |= lost
            self._dead |= lost
            self.lost += len(lost)
        return lost

    def release(self, lost: Iterable[Pair]) -> None:
        """Close the server side of lost connections."""
        for pair in lost:
            self._hang_up(pair)

    def reset(self, share: float = 1.0) -> int:
        """Reset a share of the connections; returns how many. Dead connections are not reset."""
        with self._lock:
            deletable = [pair for pair in self._pairs - self._dead if self._random.random() < share]
        self._cut(deletable)
        return len(deletable)

    def close(self) -> None:
        self._closed = True
        self._listener.close()
        with self._lock:
            left = set(self._pairs)
        self._cut(left)

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.mode == "refuse":
                self.hindered += 1
                client.close()
                continue
            try:
                server = socket.create_connection(self.server, timeout=5)
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.settimeout(None)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair: Pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
                self.most = max(self.most, len(self._pairs))
            threading.Thread(target=self._pass, args=(pair,), daemon=True).start()

    def _pass(self, pair: Pair) -> None:
        try:
            self._exchange(pair)
        except (OSError, ValueError):
            pass
        finally:
            if pair in self._lost:
                pair[0].close()
            else:
                self._hang_up(pair)

    def _exchange(self, pair: Pair) -> None:
        """Forward bytes until one end closes, or an answer has to be cut off."""
        client, server = pair
        swallowing = False
        while True:
            ready, _, _ = select.select([client, server], [], [], 1.0)
            if pair in self._dead:
                self._swallow(client)
                return
            if self.mode == "stall" and ready:
                # The bytes stay in the socket buffer until the stall is over.
                self.hindered += 1
                time.sleep(0.05)
                continue
            for end in ready:
                data = end.recv(1 << 18)
                if not data:
                    return
                if self.mode == "delay":
                    self.hindered += 1
                    time.sleep(self.delay * self._random.random())
                if end is client:
                    swallowing = swallowing or self._to_be_cut(data)
                    server.sendall(data)
                elif swallowing:
                    self.cut += 1
                    return
                else:
                    client.sendall(data)

    def _swallow(self, client: socket.socket) -> None:
        """Discard the bytes of a client on a dead connection until the client closes it."""
        used = False
        try:
            while client.recv(1 << 18):
                used = True
        except OSError:
            pass  # the client closed with a reset
        if used:
            with self._lock:
                self.given_up += 1

    def _to_be_cut(self, data: bytes) -> bool:
        if not self._cuts or not self._cut_at.search(data):
            return False
        with self._lock:
            if not self._cuts:
                return False
            self._cuts -= 1
        return True

    def _cut(self, deletable: Iterable[Pair]) -> None:
        for pair in deletable:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._hang_up(pair)

    def _hang_up(self, pair: Pair) -> None:
        with self._lock:
            self._pairs.discard(pair)
            self._dead.discard(pair)
            self._lost.discard(pair)
        for end in pair:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _near(end: socket.socket) -> int | None:
    """The local port of a socket; None if it is closed."""
    try:
        return int(end.getsockname()[1])
    except OSError:
        return None


def _far(end: socket.socket) -> int | None:
    """The remote port of a socket; None if it is closed."""
    try:
        return int(end.getpeername()[1])
    except OSError:
        return None
