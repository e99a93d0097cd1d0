"""A TCP proxy that does harm: delays, stalls, resets, and cuts between a request and its answer."""

from __future__ import annotations

import contextlib
import random
import re
import select
import socket
import struct
import threading
import time
from typing import Literal

Mode = Literal["pass", "delay", "stall", "refuse"]


class Proxy:
    """Passes bytes between clients and one server. Its modes hold for all connections, cuts for one at a time."""

    def __init__(self, server: tuple[str, int], seed: int = 0) -> None:
        self.server = server
        """Where new connections lead."""
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.mode: Mode = "pass"
        self.delay = 0.0
        self._cuts = 0
        self._cut_at = re.compile(b"")
        self.cut = 0
        """Answers that were cut off so far."""
        self.accepted = 0
        self.most = 0
        """Connections at once."""
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._closed = False
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut_answers(self, number: int, like: bytes = b"") -> None:
        """Of the next requests like this, have so many heard by the server and not answered: the connection is cut."""
        with self._lock:
            self._cuts, self._cut_at = number, re.compile(like, re.DOTALL | re.IGNORECASE)

    def reset(self, share: float = 1.0) -> int:
        """Cut connections with a reset; answers how many."""
        with self._lock:
            doomed = [pair for pair in self._pairs if self._random.random() < share]
        for pair in doomed:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._hang_up(pair)
        return len(doomed)

    def close(self) -> None:
        self._closed = True
        self._listener.close()
        self.reset()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.mode == "refuse":
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
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
                self.most = max(self.most, len(self._pairs))
            threading.Thread(target=self._pass, args=(pair,), daemon=True).start()

    def _pass(self, pair: tuple[socket.socket, socket.socket]) -> None:
        client, server = pair
        try:
            self._exchange(client, server)
        except (OSError, ValueError):
            pass
        finally:
            self._hang_up(pair)

    def _exchange(self, client: socket.socket, server: socket.socket) -> None:
        """Until one end hangs up, or an answer is to be cut off."""
        swallowing = False
        while True:
            ready, _, _ = select.select([client, server], [], [], 1.0)
            if self.mode == "stall" and ready:
                # Half-open: everything is accepted and nothing comes of it, until the stall is over.
                time.sleep(0.05)
                continue
            for end in ready:
                data = end.recv(1 << 18)
                if not data:
                    return
                if self.mode == "delay":
                    time.sleep(self.delay * self._random.random())
                if end is client:
                    swallowing = swallowing or self._to_be_cut(data)
                    server.sendall(data)
                elif swallowing:
                    self.cut += 1
                    return
                else:
                    client.sendall(data)

    def _to_be_cut(self, data: bytes) -> bool:
        if not self._cuts or not self._cut_at.search(data):
            return False
        with self._lock:
            if not self._cuts:
                return False
            self._cuts -= 1
        return True

    def _hang_up(self, pair: tuple[socket.socket, socket.socket]) -> None:
        with self._lock:
            self._pairs.discard(pair)
        for end in pair:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
