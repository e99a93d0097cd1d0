"""A blocking connection to a Redis server: it sends commands and reads their replies."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import hiredis

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.connection.conversation import Command, ConnectionLost, ErrorReply
from holdfast.stores.redis.connection.handshake import check_login, login_commands, pack_command
from holdfast.stores.tls import tls_context

CHUNK = 1 << 16
MIN_TIMEOUT = 0.001
"""Seconds. A socket timeout of 0 would mean non-blocking, and None would wait without a limit."""


class SyncConnection:
    """One connection for one thread at a time. After an exception it must be closed."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._reader = hiredis.Reader(replyError=ErrorReply)
        self._timeout = 0.0

    def exchange(self, commands: Iterable[Command], timeout: float) -> list[Any]:
        """Send all commands and read all replies. An error reply is returned as a reply; other errors are raised."""
        deadline = time.monotonic() + timeout
        self._set_timeout(timeout)
        sent = 0
        for command in commands:
            self._socket.sendall(pack_command(command))
            sent += 1
        return [self._read(deadline) for _ in range(sent)]

    def send(self, command: Command) -> None:
        """Send a command without waiting for the reply. Another thread may be reading."""
        self._socket.sendall(pack_command(command))

    def read(self, timeout: float) -> Any:
        """The next reply or message. Raises TimeoutError if none arrives in time; the connection stays usable."""
        return self._read(time.monotonic() + timeout)

    def shut_down(self) -> None:
        """Shut the socket down from any thread. A thread that is reading gets an error at once."""
        with suppress(OSError):  # the socket is closed already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _set_timeout(self, seconds: float) -> None:
        # Each change is a system call, so a change of less than 10 % is skipped.
        if not self._timeout * 0.9 < seconds <= self._timeout * 1.1:
            self._timeout = max(seconds, MIN_TIMEOUT)
            self._socket.settimeout(self._timeout)

    def _read(self, deadline: float) -> Any:
        # hiredis returns False for "no complete reply yet". RESP2 has no false value, so this is unambiguous.
        while (reply := self._reader.gets()) is False:
            self._set_timeout(deadline - time.monotonic())
            data = self._socket.recv(CHUNK)
            if not data:
                raise ConnectionLost("the server closed the connection")
            self._reader.feed(data)
        return reply


def connect(address: Address, node: Node, timeout: float) -> SyncConnection:
    """Open a connection and log in, all within `timeout` seconds."""
    deadline = time.monotonic() + max(timeout, MIN_TIMEOUT)
    connection = SyncConnection(_open(address, node, deadline))
    try:
        check_login(address, node, connection.exchange(login_commands(address), deadline - time.monotonic()))
    except BaseException:
        connection.close()
        raise
    return connection


def _open(address: Address, node: Node, deadline: float) -> socket.socket:
    timeout = max(deadline - time.monotonic(), MIN_TIMEOUT)
    if address.socket is not None:
        opened = socket.socket(socket.AF_UNIX)
        try:
            opened.settimeout(timeout)
            opened.connect(address.socket)
        except BaseException:
            opened.close()
            raise
        return opened
    opened = socket.create_connection(node, timeout)
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if address.tls is not None:
            opened.settimeout(max(deadline - time.monotonic(), MIN_TIMEOUT))
            return tls_context(address.tls).wrap_socket(opened, server_hostname=node[0])
    except BaseException:
        opened.close()
        raise
    return opened
