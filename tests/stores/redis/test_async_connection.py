"""An async connection, without a server: what the event loop calls, and when."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from holdfast.stores.redis.connection.async_connection import CHUNK, AsyncConnection
from holdfast.stores.redis.connection.conversation import ConnectionLost


class Foreign:
    """A transport that derives from none of asyncio's, like those of uvloop. What is written to it is kept."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True


async def asking(connection: AsyncConnection) -> asyncio.Task[list[object]]:
    """An exchange whose question is on its way."""
    task: asyncio.Task[list[object]] = asyncio.ensure_future(connection.exchange([("PING",)], 60))
    await asyncio.sleep(0)
    return task


def arrive(connection: AsyncConnection, data: bytes) -> None:
    for at in range(0, len(data), CHUNK):
        piece = data[at : at + CHUNK]
        connection.get_buffer(-1)[: len(piece)] = piece
        connection.buffer_updated(len(piece))


def connected() -> tuple[AsyncConnection, Foreign]:
    connection, transport = AsyncConnection(), Foreign()
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    return connection, transport


async def test_a_connection_of_another_event_loop_serves_as_well() -> None:
    connection, transport = connected()

    task = await asking(connection)
    arrive(connection, b"+PONG\r\n")

    assert await task == [b"PONG"]
    assert transport.written == [b"*1\r\n$4\r\nPING\r\n"]
    connection.close()


async def test_an_answer_that_came_in_pieces_stands_though_the_buffer_is_used_again() -> None:
    connection, _ = connected()
    large = bytes(range(256)) * 1000

    task = await asking(connection)
    arrive(connection, b"$%d\r\n%s\r\n" % (len(large), large))
    arrive(connection, b"x" * 10)

    assert await task == [large]
    connection.close()


async def test_whoever_waits_is_told_that_the_connection_broke_and_so_is_the_next() -> None:
    connection, _ = connected()

    task = await asking(connection)
    connection.connection_lost(None)

    with pytest.raises(ConnectionLost, match="closed"):
        await task
    with pytest.raises(ConnectionLost, match="closed"):
        await connection.exchange([("PING",)], 60)
    assert not connection.is_open
    connection.close()
