"""Simulates a pooler in transaction mode: after each transaction the client continues on another session."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections import deque
from collections.abc import Generator, Iterator

_SYNCED = b"Z\x00\x00\x00\x05"
"""ReadyForQuery. The next byte is the transaction status."""


class TransactionPooler:
    """Implements a small part of the protocol: it answers the startup itself, and forwards whole transactions."""

    def __init__(self, port: int, connections: int = 3) -> None:
        self._port = port
        self._idle: deque[socket.socket] = deque()
        self._slots = threading.Semaphore(connections)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._parameters = b""
        for _ in range(connections):
            self._idle.append(self._connect())
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for session in list(self._idle):  # a client that is still served may change it
            session.close()

    def _connect(self) -> socket.socket:
        session = socket.create_connection(("127.0.0.1", self._port))
        body = struct.pack("!I", 196608) + b"user\0postgres\0database\0postgres\0client_encoding\0UTF8\0\0"
        session.sendall(struct.pack("!I", len(body) + 4) + body)
        answer = _until_synced(session)
        # The parameters of the server, without the process id of the session.
        messages = [message for message in _messages(answer) if message[:1] in b"RS"]
        self._parameters = b"".join(messages)
        return session

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError, struct.error), client:
            while True:
                (size,) = struct.unpack("!I", _exactly(client, 4))
                body = _exactly(client, size - 4)
                if body[:4] == struct.pack("!I", 196608):
                    break
                client.sendall(b"N")
            name = struct.pack("!II", os.getpid(), 4711)
            client.sendall(self._parameters + b"K" + struct.pack("!I", 12) + name + _SYNCED + b"I")
            while True:
                self._forward(client)

    def _forward(self, client: socket.socket) -> None:
        """Forward one transaction to the session that was idle for the longest time."""
        request = _request(client)
        with self._slots:
            session = self._idle.popleft()
            try:
                while True:
                    session.sendall(request)
                    answer = _until_synced(session)
                    client.sendall(answer)
                    if answer[-1:] == b"I":
                        break
                    request = _request(client)
            finally:
                self._idle.append(session)


def _request(client: socket.socket) -> bytes:
    """Messages up to the first one that needs an answer: Query or Sync."""
    request = b""
    while True:
        head = _exactly(client, 5)
        (size,) = struct.unpack("!I", head[1:])
        request += head + _exactly(client, size - 4)
        if head[:1] in b"QS":
            return request
        if head[:1] == b"X":
            raise EOFError


def _until_synced(session: socket.socket) -> bytes:
    answer = b""
    while True:
        head = _exactly(session, 5)
        (size,) = struct.unpack("!I", head[1:])
        body = _exactly(session, size - 4)
        if head[:1] != b"A":  # notifications are dropped
            answer += head + body
        if head[:1] == b"Z":
            return answer


def _messages(data: bytes) -> Iterator[bytes]:
    while data:
        (size,) = struct.unpack("!I", data[1:5])
        yield data[: size + 1]
        data = data[size + 1 :]


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


@contextlib.contextmanager
def transaction_pooler(port: int) -> Generator[int]:
    """The port of a simulated pooler for the server on this port."""
    pooler = TransactionPooler(port)
    try:
        yield pooler.port
    finally:
        pooler.close()
