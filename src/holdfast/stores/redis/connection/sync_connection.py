"""A blocking connection: commands out, answers in."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import hiredis

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.connection.conversation import Command, Cut, Refused
from holdfast.stores.redis.connection.handshake import check_greeting, greeting, packed, tls_context

CHUNK = 1 << 16
SOON = 0.001
"""Seconds that are waited at least: none would mean not to wait, and for a socket, for ever."""


class Line:
    """One connection of one thread at a time. Once it raised, it is of no more use."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._reader = hiredis.Reader(replyError=Refused)
        self._timeout = 0.0

    def exchange(self, commands: Iterable[Command], timeout: float) -> list[Any]:
        """Send everything and read everything. An error that answers a command is an answer; others are raised."""
        deadline = time.monotonic() + timeout
        self._wait_at_most(timeout)
        sent = 0
        for command in commands:
            self._socket.sendall(packed(command))
            sent += 1
        return [self._read(deadline) for _ in range(sent)]

    def send(self, command: Command) -> None:
        """Send without waiting for an answer. Another thread may be reading."""
        self._socket.sendall(packed(command))

    def read(self, timeout: float) -> Any:
        """The next answer or message. TimeoutError when there is none in time: the connection is still good then."""
        return self._read(time.monotonic() + timeout)

    def cut(self) -> None:
        """Break the connection from any thread: whoever reads it is told at once."""
        with suppress(OSError):  # it is gone already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _wait_at_most(self, seconds: float) -> None:
        # Each change is a call to the system: one that makes little difference is left out.
        if not self._timeout * 0.9 < seconds <= self._timeout * 1.1:
            self._timeout = max(seconds, SOON)
            self._socket.settimeout(self._timeout)

    def _read(self, deadline: float) -> Any:
        # The protocol that is spoken has no false, so False is "not yet".
        while (reply := self._reader.gets()) is False:
            self._wait_at_most(deadline - time.monotonic())
            data = self._socket.recv(CHUNK)
            if not data:
                raise Cut("the server closed the connection")
            self._reader.feed(data)
        return reply


def connect(address: Address, node: Node, timeout: float) -> Line:
    """A connection that is logged in, within this time altogether."""
    deadline = time.monotonic() + max(timeout, SOON)
    opened = _open(address, node, deadline)
    line = Line(opened)
    try:
        check_greeting(line.exchange(greeting(address), deadline - time.monotonic()))
    except BaseException:
        line.close()
        raise
    return line


def _open(address: Address, node: Node, deadline: float) -> socket.socket:
    timeout = max(deadline - time.monotonic(), SOON)
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
            opened.settimeout(max(deadline - time.monotonic(), SOON))
            return tls_context(address.tls).wrap_socket(opened, server_hostname=node[0])
    except BaseException:
        opened.close()
        raise
    return opened
