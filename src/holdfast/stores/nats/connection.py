"""A blocking connection to a NATS server, for the few commands that wake-ups need.

The protocol is lines of text that end with CR LF. The server sends INFO, MSG with a payload, PING, PONG, +OK and -ERR;
this client sends CONNECT, SUB, PUB with a payload, PING and PONG.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Any

import msgspec

from holdfast.stores.nats.address import NatsAddress, Node
from holdfast.stores.nats.login import connect_command
from holdfast.stores.tls import tls_context

CHUNK = 1 << 16
MIN_TIMEOUT = 0.001
"""Seconds. A socket timeout of 0 would mean non-blocking, and None would wait without a limit."""
MAX_LINE = 1 << 20
"""Bytes. The longest line is INFO, which names all servers of a cluster."""
DEFAULT_MAX_PAYLOAD = 1 << 20


class ServerError(ConnectionError):
    """The server sent -ERR."""

    @property
    def of_permission(self) -> bool:
        """Whether the user must not use the subject. The connection stays usable."""
        return "permissions violation" in str(self).lower()


class NatsConnection:
    """One connection for one reading thread. After an exception other than TimeoutError it must be closed."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._buffer = bytearray()
        self.max_payload = DEFAULT_MAX_PAYLOAD

    def send(self, data: bytes) -> None:
        """Send commands without waiting for a reply. Another thread may be reading."""
        self._socket.sendall(data)

    def read(self, timeout: float) -> bytes | None:
        """The payload of the next message, or None for a PONG. Replies to a PING of the server on the way.

        Raises TimeoutError if nothing arrives in time; the connection stays usable.
        """
        deadline = time.monotonic() + timeout
        while True:
            line = self._line(deadline)
            command = line.split(maxsplit=1)[0].upper() if line.strip() else b""
            match command:
                case b"MSG":
                    return self._payload(line, deadline)
                case b"PONG":
                    del self._buffer[: len(line) + 2]
                    return None
                case b"PING":
                    del self._buffer[: len(line) + 2]
                    self.send(b"PONG\r\n")
                case b"-ERR":
                    del self._buffer[: len(line) + 2]
                    raise ServerError(line[4:].decode(errors="replace").strip(" '"))
                case _:  # +OK and INFO
                    del self._buffer[: len(line) + 2]

    def confirm(self, timeout: float) -> None:
        """Wait until the server has processed everything that was sent. Messages that arrive meanwhile are dropped."""
        self.send(b"PING\r\n")
        deadline = time.monotonic() + timeout
        refusal: ServerError | None = None
        while True:
            try:
                if self.read(deadline - time.monotonic()) is None:
                    break
            except ServerError as error:
                if not error.of_permission:
                    raise
                refusal = error  # the reply to the PING follows
        if refusal is not None:
            raise refusal

    def shut_down(self) -> None:
        """Shut the socket down from any thread. A thread that is reading gets an error at once."""
        with suppress(OSError):  # the socket is closed already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def log_in(self, address: NatsAddress, host: str, deadline: float) -> None:
        """Read INFO, start TLS, send CONNECT, and wait for the reply."""
        line = self._line(deadline)
        if not line.startswith(b"INFO "):
            raise ConnectionError("the server is not a NATS server")
        del self._buffer[: len(line) + 2]
        info: dict[str, Any] = msgspec.json.decode(line[5:], type=dict[str, Any])
        self.max_payload = int(info.get("max_payload", DEFAULT_MAX_PAYLOAD))
        tls = address.tls is not None or bool(info.get("tls_required"))
        if tls:
            # Before CONNECT, so that no password is sent in clear to a server that claims to have no TLS.
            self._start_tls(address.tls or {}, host, deadline)
        self.send(connect_command(address, info, tls=tls))
        self.confirm(deadline - time.monotonic())

    def _start_tls(self, options: dict[str, str], host: str, deadline: float) -> None:
        self._socket.settimeout(max(deadline - time.monotonic(), MIN_TIMEOUT))
        self._socket = tls_context(options).wrap_socket(self._socket, server_hostname=host)

    def _payload(self, line: bytes, deadline: float) -> bytes:
        # MSG subject sid [reply-to] size. The line stays in the buffer until all of the payload is there.
        begin = len(line) + 2
        end = begin + int(line.split()[-1])
        while len(self._buffer) < end + 2:
            self._fill(deadline)
        payload = bytes(self._buffer[begin:end])
        del self._buffer[: end + 2]
        return payload

    def _line(self, deadline: float) -> bytes:
        """The first line in the buffer, without its end. It stays in the buffer."""
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > MAX_LINE:
                raise ConnectionError("the server is not a NATS server")
            self._fill(deadline)
        return bytes(self._buffer[:end])

    def _fill(self, deadline: float) -> None:
        self._socket.settimeout(max(deadline - time.monotonic(), MIN_TIMEOUT))
        data = self._socket.recv(CHUNK)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._buffer += data


def connect(address: NatsAddress, node: Node) -> NatsConnection:
    """Open a connection and log in, all within the timeout of the address."""
    deadline = time.monotonic() + address.timeout
    opened = socket.create_connection(node, max(address.timeout, MIN_TIMEOUT))
    connection = NatsConnection(opened)
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.log_in(address, node[0], deadline)
    except BaseException:
        connection.close()
        raise
    return connection
