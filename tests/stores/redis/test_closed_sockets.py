"""Every socket is closed if the server fails between login and subscription, and if a call ends after close()."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from holdfast.errors import StoreUnavailable
from holdfast.stores.nats import address as nats_address
from holdfast.stores.nats import channel as nats_channel
from holdfast.stores.nats.channel import NatsChannel
from holdfast.stores.nats.connection import NatsConnection
from holdfast.stores.redis import RedisStore, server_checks
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.connection import async_connection
from holdfast.stores.redis.connection.connection_pool import ConnectionPool
from holdfast.stores.redis.connection.conversation import Command, CommandConversation, ServerFeatures
from holdfast.stores.redis.connection.node_locator import NodeLocator
from holdfast.stores.redis.connection.sync_connection import SyncConnection
from holdfast.stores.redis.wakeups.channel import RedisChannel
from tests.servers.redis import RedisServer


def lost_socket() -> socket.socket:
    """A socket whose server has closed the connection: sending fails."""
    here, there = socket.socketpair()
    there.close()
    return here


def test_a_subscription_of_redis_that_cannot_be_sent_closes_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = lost_socket()
    locator = NodeLocator(read_address("redis://localhost"), 0)

    def connect(*_: object) -> SyncConnection:
        return SyncConnection(opened)

    monkeypatch.setattr(locator, "connect", connect)

    with pytest.raises(OSError, match="Broken pipe"):
        RedisChannel(locator, "hints", ServerFeatures()).subscribe()

    assert opened.fileno() == -1


def test_a_subscription_of_nats_that_cannot_be_sent_closes_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = lost_socket()

    def connect(*_: object) -> NatsConnection:
        return NatsConnection(opened)

    monkeypatch.setattr(nats_channel, "connect", connect)

    with pytest.raises(OSError, match="Broken pipe"):
        NatsChannel(nats_address.read_address("nats://localhost")).subscribe()

    assert opened.fileno() == -1


class Paused(CommandConversation):
    """A conversation whose commands wait for a signal."""

    def __init__(self) -> None:
        super().__init__(("PING",))
        self.begun, self.released = Event(), Event()

    def commands(self) -> list[Command]:
        self.begun.set()
        assert self.released.wait(60)
        return [("PING",)]


def test_a_connection_that_is_given_back_after_the_close_is_closed(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[SyncConnection] = []
    locator = NodeLocator(read_address(server.address()), 0)
    connect = locator.connect

    def recording(timeout: float) -> SyncConnection:
        opened.append(connect(timeout))
        return opened[-1]

    monkeypatch.setattr(locator, "connect", recording)
    pool, paused = ConnectionPool(locator), Paused()
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(pool.run, paused)
        assert paused.begun.wait(60)
        pool.shut()
        paused.released.set()
        call.result(60)

    assert [each._socket.fileno() for each in opened] == [-1]  # pyright: ignore[reportPrivateUsage]


def refused(*_: object) -> StoreUnavailable:
    return StoreUnavailable("redis", "refused")


async def test_a_store_that_could_not_be_opened_has_no_open_connection(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    close: Callable[[async_connection.AsyncConnection], None] = async_connection.AsyncConnection.close

    def noted(self: async_connection.AsyncConnection) -> None:
        close(self)
        closed.append(self.is_open)

    monkeypatch.setattr(async_connection.AsyncConnection, "close", noted)
    monkeypatch.setattr(server_checks, "refusal", refused)

    with pytest.raises(StoreUnavailable, match="refused"):
        await RedisStore(server.address()).open()

    assert closed == [False]


def test_a_blocking_store_that_could_not_be_opened_has_no_open_connection(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    close = SyncConnection.close

    def recording(self: SyncConnection) -> None:
        close(self)
        closed.append(self._socket.fileno())  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(SyncConnection, "close", recording)
    monkeypatch.setattr(server_checks, "refusal", refused)

    with pytest.raises(StoreUnavailable, match="refused"):
        RedisStore(server.address()).open_sync()

    assert closed == [-1]
