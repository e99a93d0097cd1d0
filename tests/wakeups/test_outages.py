"""A SQL store with wake-ups through Redis or NATS: while the server is slow or down, only hints are lost."""

from __future__ import annotations

import asyncio
import logging
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast import Client, Hints, Jobs, SyncClient, Worker
from holdfast.engine.operations import Start
from holdfast.engine.wakeups import ANYTHING
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.wakeups.notification import channel
from holdfast.stores.redis.wakeups.wakeups import RedisWakeups
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.wakeup_address import wakeups_at
from holdfast.testing.builders import new_job
from holdfast.testing.wakeups import RecordingListener
from tests.servers.nats import NatsServer, run_nats, shared_nats
from tests.servers.ports import free_port
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import RedisServer, run_redis, shared_redis, until

TIMEOUT = 60.0

jobs = Jobs()


@jobs.job
async def hello() -> str:
    return "hello"


@contextmanager
def silent_server() -> Generator[int]:
    """Accepts connections and never sends a byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


Bus = RedisServer | NatsServer
BUSES = ["through redis", "through nats"]


@pytest.fixture(params=BUSES)
def bus(request: pytest.FixtureRequest) -> Bus:
    return shared_redis() if request.param == BUSES[0] else shared_nats()


@pytest.fixture
def wakeups(bus: Bus) -> str:
    return bus.address()


@pytest.fixture
def listener(wakeups: str) -> Iterator[RecordingListener]:
    """A listener of another process."""
    there = wakeups_at(wakeups)
    there.open()
    yield RecordingListener(there)
    there.close()


@pytest.fixture(params=[f"{state} {scheme}" for scheme in ("redis", "nats") for state in ("dead", "silent")])
def broken(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that is down or does not respond."""
    state, scheme = request.param.split()
    if state == "dead":
        yield f"{scheme}://:hunter2@127.0.0.1:{free_port()}"
    else:
        with silent_server() as port:
            yield f"{scheme}://:hunter2@127.0.0.1:{port}?timeout=300"


async def test_commits_do_not_wait_for_the_bus_and_workers_poll(
    broken: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.stores.pubsub.subscriber.STOP_TIMEOUT", 0.1)
    monkeypatch.setattr("holdfast.stores.pubsub.publisher.STOP_TIMEOUT", 0.1)
    caplog.set_level(logging.INFO, "holdfast")
    async with Client(f"sqlite:///{tmp_path}/jobs.db", jobs, wakeups=broken) as client:
        begun = time.monotonic()
        chains = [await client.start(hello.bind()) for _ in range(20)]
        took = time.monotonic() - begun
        assert not client.store.wakeups.healthy

        async with Worker(client, poll_interval=10_000):
            for chain in chains:
                assert await client.wait(chain, timeout=TIMEOUT) == "hello"
            late = await client.start(hello.bind())
            assert await client.wait(late, timeout=TIMEOUT) == "hello"

    # A send that waited for a response would take 300 seconds.
    assert took < 300
    if "timeout" not in broken:
        assert "are down, polling meanwhile" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("run", [run_redis, run_nats], ids=BUSES)
def test_wake_ups_reconnect_and_send_the_kept_hints(
    run: Callable[[], AbstractContextManager[Bus]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "holdfast")
    with run() as server:
        address = server.address()
        here, there = wakeups_at(address), wakeups_at(address)
        here.open()
        there.open()
        listener = RecordingListener(there)
        assert here.healthy
        assert there.healthy

        listener.clear()
        server.stop()
        listener.receives(ANYTHING)
        until(lambda: not here.healthy and not there.healthy)
        assert there.problem
        here.send(Hints(due={"kept"}))
        server.start()

        until(lambda: listener.has_received("kept") or there.healthy)
        until(lambda: here.healthy and there.healthy)
        here.send(Hints(due={"resize"}))
        until(lambda: listener.has_received("resize"))
        here.close()
        there.close()
    assert caplog.text.count("are down, polling meanwhile") == 2


def test_many_hints_are_sent_in_few_messages() -> None:
    server = shared_redis()
    address = server.address()
    wakeups = RedisWakeups.at(address)
    wakeups.open()
    with server.connect() as client:
        before = _published(client)
        for number in range(5000):
            wakeups.send(Hints(due={"resize"}, finished={f"chain {number}"}))
        wakeups.close()

        assert 1 <= _published(client) - before < 500


@pytest.mark.parametrize("run", [run_redis, run_nats], ids=BUSES)
async def test_workers_poll_while_the_bus_is_killed_and_no_job_is_lost(
    run: Callable[[], AbstractContextManager[Bus]], tmp_path: Path
) -> None:
    with run() as server:
        address = f"sqlite:///{tmp_path}/jobs.db"
        wakeups = server.address()
        async with (
            Client(address, jobs, wakeups=wakeups) as there,
            Worker(there, poll_interval=10_000),
            Client(address, jobs, wakeups=wakeups) as here,
        ):
            assert await here.run(hello.bind(), timeout=TIMEOUT) == "hello"

            await asyncio.to_thread(server.stop)
            started = [await here.start(hello.bind()) for _ in range(20)]
            for chain in started:
                assert await here.wait(chain, timeout=TIMEOUT) == "hello"
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(until, lambda: here.store.wakeups.healthy and there.store.wakeups.healthy)

            assert await here.run(hello.bind(), timeout=TIMEOUT) == "hello"


def test_a_store_sends_its_last_hints_and_ends_its_threads_when_it_is_closed(bus: Bus, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    address = bus.address()
    there = wakeups_at(address)
    there.open()
    listener = RecordingListener(there)
    store = SqliteStore(f"sqlite:///{tmp_path}/jobs.db", wakeups=address)
    store.open_sync()

    store.perform_sync(Start((new_job("last"),)))
    store.close_sync()

    listener.receives(Hints(due={"last"}))
    there.close()
    # A busy machine ends the threads a moment after the close, which waits for them for a limited time.
    until(lambda: {each for each in threading.enumerate() if each.name.startswith("holdfast")} <= before)


def test_postgres_does_not_listen_or_notify_if_a_bus_delivers_wake_ups(wakeups: str) -> None:
    address = fresh_address()
    schema = PostgresStore(address).schema
    before = set(threading.enumerate())
    with shared_postgres().connect() as other:
        other.execute(f'listen "{channel(schema)}"'.encode())

        with (
            SyncClient(address, jobs, wakeups=wakeups) as client,
            psycopg.connect(**PostgresStore(address).address.connection) as connection,
        ):
            client.start(hello.bind())
            client.start(hello.bind(), tx=connection)
            connection.commit()
            names = {thread.name for thread in set(threading.enumerate()) - before}

        assert "holdfast-wakeups" not in names
        other.execute(f"notify \"{channel(schema)}\", 'the first'".encode())
        assert [notify.payload for notify in other.notifies(timeout=TIMEOUT, stop_after=1)] == ["the first"]


def test_a_commit_on_a_plain_connection_to_postgres_sends_hints(listener: RecordingListener, wakeups: str) -> None:
    """psycopg has no commit hook, so the hint is repeated until the commit has most likely happened."""
    store = PostgresStore(fresh_address(), wakeups=wakeups)
    store.open_sync()

    with psycopg.connect(**store.address.connection) as connection:
        store.join_sync(connection).perform(Start((new_job(),)))
        connection.commit()
        listener.clear()

        listener.receives(Hints(due={"resize"}))
    store.close_sync()


def test_a_commit_on_a_plain_connection_to_sqlite_sends_hints(
    listener: RecordingListener, wakeups: str, tmp_path: Path
) -> None:
    store = SqliteStore(f"sqlite:///{tmp_path}/jobs.db", wakeups=wakeups)
    store.open_sync()

    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        store.join_sync(connection).perform(Start((new_job(),)))
        connection.commit()
        listener.clear()

        listener.receives(Hints(due={"resize"}))
    store.close_sync()


def _published(client: Any) -> int:
    return int(client.info("commandstats").get("cmdstat_publish", {"calls": 0})["calls"])
