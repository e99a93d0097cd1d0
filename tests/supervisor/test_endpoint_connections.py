"""The health endpoint answers prompt requests whatever number of idle or slow connections is open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holdfast.supervisor.endpoint import MOST_CONNECTIONS, Endpoint
from holdfast.supervisor.metrics import Supervised

TIMEOUT = 60.0
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def endpoint() -> AsyncGenerator[Endpoint]:
    endpoint = Endpoint(cast("Supervised", SimpleNamespace(alive=True, ready=True)), ("127.0.0.1", 0))
    await endpoint.open()
    yield endpoint
    await endpoint.close()


async def test_a_prompt_request_is_answered_beside_many_idle_connections(endpoint: Endpoint) -> None:
    async with connected(endpoint, MOST_CONNECTIONS + 6):
        assert b"200 OK" in await answer_to(endpoint, REQUEST)


async def test_a_prompt_request_is_answered_beside_connections_that_send_a_byte_at_a_time(endpoint: Endpoint) -> None:
    async with connected(endpoint, MOST_CONNECTIONS + 6) as slow:
        for _, writer in slow:
            writer.write(REQUEST[:1])
        assert b"200 OK" in await answer_to(endpoint, REQUEST)


async def test_the_oldest_idle_connections_are_closed_and_the_newest_stay_open(endpoint: Endpoint) -> None:
    async with connected(endpoint, MOST_CONNECTIONS + 6) as idle:
        async with asyncio.timeout(TIMEOUT):
            for reader, _ in idle[:6]:
                assert await ends(reader)
        for reader, writer in idle[6:]:
            writer.write(REQUEST)
            assert b"200 OK" in await asyncio.wait_for(reader.read(), TIMEOUT)


async def test_a_request_sent_at_once_is_answered_within_a_burst_of_connections(endpoint: Endpoint) -> None:
    """The server accepts the whole burst in one turn of its event loop. The request is in the first connection."""
    sockets = [socket.create_connection(endpoint.address) for _ in range(MOST_CONNECTIONS + 30)]
    try:
        sockets[0].sendall(REQUEST)
        sockets[0].setblocking(False)
        answer = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(sockets[0], 1000), TIMEOUT)
        assert b"200 OK" in answer
    finally:
        for each in sockets:
            each.close()


async def test_closing_the_endpoint_closes_its_connections(endpoint: Endpoint) -> None:
    async with connected(endpoint, 1) as [(reader, writer)]:
        writer.write(REQUEST[:1])
        assert b"200 OK" in await answer_to(endpoint, REQUEST)
        await endpoint.close()
        assert await asyncio.wait_for(ends(reader), TIMEOUT)


@asynccontextmanager
async def connected(endpoint: Endpoint, number: int) -> AsyncGenerator[list[Connection]]:
    """Connections that send nothing yet, in the order in which the server accepted them."""
    connections: list[Connection] = [await asyncio.open_connection(*endpoint.address) for _ in range(number)]
    try:
        yield connections
    finally:
        for _, writer in connections:
            writer.transport.abort()


async def answer_to(endpoint: Endpoint, request: bytes) -> Any:
    reader, writer = await asyncio.open_connection(*endpoint.address)
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(), TIMEOUT)
    finally:
        writer.transport.abort()


async def ends(reader: asyncio.StreamReader) -> bool:
    """Whether the server closed the connection without an answer."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True
