"""A SQL store with wake-ups through Redis: while Redis is slow or down, only hints are lost."""

from __future__ import annotations

import logging
import socket
import sqlite3
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast import Client, Hints, Jobs, SyncClient, Worker
from holdfast.engine.operations import Start
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.wakeups.notification import channel
from holdfast.stores.redis.wakeups.wakeups import RedisWakeups
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
from holdfast.testing.wakeups import RecordingListener
from tests.servers.postgres import free_port, fresh_address, shared_postgres
from tests.servers.redis import run_redis, shared_redis, until

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


@pytest.fixture
def wakeups() -> str:
    return shared_redis().address()


@pytest.fixture
def listener(wakeups: str) -> Iterator[RecordingListener]:
    """A listener of another process."""
    there = RedisWakeups.at(wakeups)
    there.open()
    yield RecordingListener(there)
    there.close()


@pytest.fixture(params=["dead", "silent"])
def broken(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a Redis server that is down or does not respond."""
    if request.param == "dead":
        yield f"redis://:hunter2@127.0.0.1:{free_port()}"
    else:
        with silent_server() as port:
            yield f"redis://:hunter2@127.0.0.1:{port}?timeout=30"


async def test_commits_do_not_wait_for_redis_and_workers_poll(
    broken: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.stores.redis.wakeups.subscriber.STOP_TIMEOUT", 0.1)
    monkeypatch.setattr("holdfast.stores.redis.wakeups.publisher.STOP_TIMEOUT", 0.1)
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

    # A send that waited for a response would take 30 seconds.
    assert took < 10
    if "timeout" not in broken:
        assert "are down, polling meanwhile" in caplog.text
    assert "hunter2" not in caplog.text


def test_wake_ups_reconnect_to_redis_and_send_the_kept_hints(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "holdfast")
    with run_redis() as server:
        address = server.address()
        here, there = RedisWakeups.at(address), RedisWakeups.at(address)
        here.open()
        there.open()
        listener = RecordingListener(there)
        assert here.healthy
        assert there.healthy

        server.stop()
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


def test_a_store_sends_its_last_hints_and_ends_its_threads_when_it_is_closed(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    address = shared_redis().address()
    there = RedisWakeups.at(address)
    there.open()
    listener = RecordingListener(there)
    store = SqliteStore(f"sqlite:///{tmp_path}/jobs.db", wakeups=address)
    store.open_sync()

    store.perform_sync(Start((new_job("last"),)))
    store.close_sync()

    listener.receives(Hints(due={"last"}))
    there.close()
    assert {thread for thread in threading.enumerate() if thread.name.startswith("holdfast")} <= before


def test_postgres_does_not_listen_or_notify_if_redis_delivers_wake_ups() -> None:
    address = fresh_address()
    schema = PostgresStore(address).schema
    before = set(threading.enumerate())
    with shared_postgres().connect() as other:
        other.execute(f'listen "{channel(schema)}"'.encode())

        with (
            SyncClient(address, jobs, wakeups=shared_redis().address()) as client,
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
