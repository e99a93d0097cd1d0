"""An async connection: commands out, answers in, nothing between them and the event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Any, cast

import hiredis

from holdfast.stores.redis.address import Address, Node
from holdfast.stores.redis.connection.conversation import Command, Cut, Refused
from holdfast.stores.redis.connection.handshake import check_greeting, greeting, packed, tls_context

CHUNK = 1 << 16


class Stream(asyncio.BufferedProtocol):
    """One connection of one task at a time. Once it failed, or an answer was not waited for, it is of no more use."""

    def __init__(self) -> None:
        # It reads from any buffer; its types know of bytes alone.
        self._reader: Any = hiredis.Reader(replyError=Refused)
        # A view: TLS reads on behind what it read, in a slice.
        self._buffer = memoryview(bytearray(CHUNK))
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._replies: list[Any] = []
        self._wanted = 0
        self._answered: asyncio.Future[list[Any]] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def stands(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, commands: Iterable[Command], timeout: float) -> list[Any]:
        """Send everything and read everything. An error that answers a command is an answer; others are raised."""
        if self._transport is None:
            raise Cut("the connection was closed")
        self._replies, self._wanted = [], 0
        answered: asyncio.Future[list[Any]] = self._loop.create_future()
        self._answered = answered
        self._deadline = self._loop.time() + timeout
        if self._timer is None or self._timer.when() > self._deadline:
            self._look_at(self._deadline)
        try:
            for command in commands:
                self._transport.write(packed(command))
                self._wanted += 1
            return await answered
        finally:
            self._answered = None

    def close(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: those of other event loops, as uvloop's, are like one and derive from none.
        self._transport = cast(asyncio.Transport, transport)

    # A buffer of our own: the event loop would make one of 256 KB for each answer, which is three calls to the system.
    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._reader.feed(self._buffer, 0, nbytes)
        replies = self._replies
        try:
            # The protocol that is spoken has no false, so False is "not yet".
            while len(replies) < self._wanted and (reply := self._reader.gets()) is not False:
                replies.append(reply)
        except hiredis.ProtocolError as error:
            self._fail(Cut(str(error)))
            return
        if len(replies) == self._wanted and self._answered is not None and not self._answered.done():
            self._answered.set_result(replies)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(Cut(str(exc) if exc else "the server closed the connection"))

    # One timer for many exchanges: set and taken back each time, it would be a good part of a short one's cost.
    def _look_at(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._answered is None:
            return
        if self._loop.time() >= self._deadline:
            self._fail(Cut("no answer in time"))
        else:
            self._look_at(self._deadline)

    def _fail(self, error: Exception) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(error)


async def connect(address: Address, node: Node, timeout: float) -> Stream:
    """A connection that is logged in, within this time altogether."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    async with asyncio.timeout(timeout):
        if address.socket is not None:
            _, stream = await loop.create_unix_connection(Stream, address.socket)
        else:
            context = None if address.tls is None else tls_context(address.tls)
            transport, stream = await loop.create_connection(Stream, *node, ssl=context)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    try:
        check_greeting(await stream.exchange(greeting(address), deadline - loop.time()))
    except BaseException:
        stream.close()
        raise
    return stream
