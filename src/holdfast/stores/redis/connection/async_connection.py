"""An async connection to a Redis server, as an asyncio protocol on top of the transport."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Any, cast

import hiredis

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.connection.conversation import Command, ConnectionLost, ErrorReply
from holdfast.stores.redis.connection.handshake import check_login, login_commands, pack_command
from holdfast.stores.tls import tls_context

CHUNK = 1 << 16


class AsyncConnection(asyncio.BufferedProtocol):
    """One connection for one task at a time.

    It must be closed after an error, and if a task was cancelled before it read its reply.
    """

    def __init__(self) -> None:
        # Any: hiredis reads from any buffer, but its type hints allow only bytes.
        self._reader: Any = hiredis.Reader(replyError=ErrorReply)
        # A memoryview: with TLS, asyncio continues to read behind the received bytes, into a slice.
        self._buffer = memoryview(bytearray(CHUNK))
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._replies: list[Any] = []
        self._expected = 0
        self._received: asyncio.Future[list[Any]] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, commands: Iterable[Command], timeout: float) -> list[Any]:
        """Send all commands and read all replies. An error reply is returned as a reply; other errors are raised."""
        if self._transport is None:
            raise ConnectionLost("the connection was closed")
        self._replies, self._expected = [], 0
        received: asyncio.Future[list[Any]] = self._loop.create_future()
        self._received = received
        self._deadline = self._loop.time() + timeout
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer(self._deadline)
        try:
            for command in commands:
                self._transport.write(pack_command(command))
                self._expected += 1
            return await received
        finally:
            self._received = None

    def keep_alive(self) -> None:
        """Detect a server that disappeared while the connection is idle."""
        opened = None if self._transport is None else self._transport.get_extra_info("socket")
        if opened is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def close(self) -> None:
        """Close the connection at once, without flushing."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, no isinstance check: the transports of uvloop have the methods but not the base class.
        self._transport = cast(asyncio.Transport, transport)

    # Our own buffer: otherwise the event loop allocates 256 KB for each reply, which takes three system calls.
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._reader.feed(self._buffer, 0, nbytes)
        replies = self._replies
        try:
            # hiredis returns False for "no complete reply yet". RESP2 has no false value, so this is unambiguous.
            while len(replies) < self._expected and (reply := self._reader.gets()) is not False:
                replies.append(reply)
        except hiredis.ProtocolError as error:
            self._fail(ConnectionLost(str(error)))
            return
        if len(replies) == self._expected and self._received is not None and not self._received.done():
            self._received.set_result(replies)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(ConnectionLost(str(exc) if exc else "the server closed the connection"))

    # One timer serves many exchanges: one per exchange would be a large part of the cost of a short exchange.
    def _set_timer(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self._received is None:
            return
        if self._loop.time() >= self._deadline:
            self._fail(ConnectionLost("no answer in time"))
        else:
            self._set_timer(self._deadline)

    def _fail(self, error: Exception) -> None:
        if self._received is not None and not self._received.done():
            self._received.set_exception(error)


async def connect(address: Address, node: Node, timeout: float) -> AsyncConnection:
    """Open a connection and log in, all within `timeout` seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    async with asyncio.timeout(timeout):
        if address.socket is not None:
            _, connection = await loop.create_unix_connection(AsyncConnection, address.socket)
        else:
            context = None if address.tls is None else tls_context(address.tls)
            _, connection = await loop.create_connection(AsyncConnection, *node, ssl=context)
    try:
        connection.keep_alive()
        check_login(address, node, await connection.exchange(login_commands(address), deadline - loop.time()))
    except BaseException:
        connection.close()
        raise
    return connection
