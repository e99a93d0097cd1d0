"""The async connection without a server: the test calls what the event loop calls."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from holdfast.stores.redis.connection.async_connection import CHUNK, AsyncConnection
from holdfast.stores.redis.connection.conversation import ConnectionLost


class RecordingTransport:
    """A transport without asyncio's base classes, as in uvloop. It records what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True


async def pending_exchange(connection: AsyncConnection) -> asyncio.Task[list[object]]:
    """An exchange whose command is sent."""
    task: asyncio.Task[list[object]] = asyncio.ensure_future(connection.exchange([("PING",)], 60))
    await asyncio.sleep(0)
    return task


def arrive(connection: AsyncConnection, data: bytes) -> None:
    for at in range(0, len(data), CHUNK):
        piece = data[at : at + CHUNK]
        connection.get_buffer(-1)[: len(piece)] = piece
        connection.buffer_updated(len(piece))


def connected() -> tuple[AsyncConnection, RecordingTransport]:
    connection, transport = AsyncConnection(), RecordingTransport()
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    return connection, transport


async def test_a_connection_works_on_a_transport_of_another_event_loop() -> None:
    connection, transport = connected()

    task = await pending_exchange(connection)
    arrive(connection, b"+PONG\r\n")

    assert await task == [b"PONG"]
    assert transport.written == [b"*1\r\n$4\r\nPING\r\n"]
    connection.close()


async def test_a_reply_in_several_parts_is_kept_when_the_buffer_is_reused() -> None:
    connection, _ = connected()
    large = bytes(range(256)) * 1000

    task = await pending_exchange(connection)
    arrive(connection, b"$%d\r\n%s\r\n" % (len(large), large))
    arrive(connection, b"x" * 10)

    assert await task == [large]
    connection.close()


async def test_a_lost_connection_fails_the_waiting_call_and_the_next_one() -> None:
    connection, _ = connected()

    task = await pending_exchange(connection)
    connection.connection_lost(None)

    with pytest.raises(ConnectionLost, match="closed"):
        await task
    with pytest.raises(ConnectionLost, match="closed"):
        await connection.exchange([("PING",)], 60)
    assert not connection.is_open
    connection.close()
