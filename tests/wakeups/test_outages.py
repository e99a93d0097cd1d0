"""A Redis that is slow, dead or gone for a while costs a SQL store hints, and nothing else."""

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
from holdfast.testing.wakeups import Party
from tests.servers.postgres import free_port, fresh_address, shared_postgres
from tests.servers.redis import run_redis, shared_redis, until

PATIENCE = 20.0

jobs = Jobs()


@jobs.job
async def hello() -> str:
    return "hello"


@contextmanager
def silent_server() -> Generator[int]:
    """Takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def wakeups() -> str:
    return shared_redis().address()


@pytest.fixture
def recorder(wakeups: str) -> Iterator[Party]:
    """Somebody who listens elsewhere."""
    there = RedisWakeups.at(wakeups)
    there.open()
    yield Party(there)
    there.close()


@pytest.fixture(params=["dead", "silent"])
def broken(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a Redis that is of no use."""
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
                assert await client.wait(chain, timeout=PATIENCE) == "hello"
            late = await client.start(hello.bind())
            assert await client.wait(late, timeout=PATIENCE) == "hello"

    # Each would have waited 30 seconds for an answer.
    assert took < 10
    if "timeout" not in broken:
        assert "are down, polling meanwhile" in caplog.text
    assert "hunter2" not in caplog.text


def test_wake_ups_come_back_with_redis_and_tell_what_was_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "holdfast")
    with run_redis() as server:
        address = server.address()
        here, there = RedisWakeups.at(address), RedisWakeups.at(address)
        here.open()
        there.open()
        recorder = Party(there)
        assert here.healthy
        assert there.healthy

        server.stop()
        until(lambda: not here.healthy and not there.healthy)
        assert there.trouble
        here.send(Hints(due={"kept"}))
        server.start()

        until(lambda: recorder.has_received("kept") or there.healthy)
        until(lambda: here.healthy and there.healthy)
        here.send(Hints(due={"resize"}))
        until(lambda: recorder.has_received("resize"))
        here.close()
        there.close()
    assert caplog.text.count("are down, polling meanwhile") == 2


def test_hints_of_a_flood_travel_together() -> None:
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


def test_a_closed_store_leaves_no_thread_and_says_what_was_left(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    address = shared_redis().address()
    there = RedisWakeups.at(address)
    there.open()
    recorder = Party(there)
    store = SqliteStore(f"sqlite:///{tmp_path}/jobs.db", wakeups=address)
    store.open_sync()

    store.perform_sync(Start((new_job("last"),)))
    store.close_sync()

    recorder.receives(Hints(due={"last"}))
    there.close()
    assert {thread for thread in threading.enumerate() if thread.name.startswith("holdfast")} <= before


def test_postgres_neither_listens_nor_notifies_where_redis_wakes() -> None:
    address = fresh_address()
    schema = PostgresStore(address).schema
    before = set(threading.enumerate())
    with shared_postgres().connect() as outsider:
        outsider.execute(f'listen "{channel(schema)}"'.encode())

        with (
            SyncClient(address, jobs, wakeups=shared_redis().address()) as client,
            psycopg.connect(**PostgresStore(address).address.connection) as connection,
        ):
            client.start(hello.bind())
            client.start(hello.bind(), tx=connection)
            connection.commit()
            names = {thread.name for thread in set(threading.enumerate()) - before}

        assert "holdfast-wakeups" not in names
        outsider.execute(f"notify \"{channel(schema)}\", 'the first'".encode())
        assert [notify.payload for notify in outsider.notifies(timeout=PATIENCE, stop_after=1)] == ["the first"]


def test_a_commit_on_a_bare_connection_to_postgres_is_heard_of(recorder: Party, wakeups: str) -> None:
    """Nothing tells of it, so the hint is said again until it has most likely happened."""
    store = PostgresStore(fresh_address(), wakeups=wakeups)
    store.open_sync()

    with psycopg.connect(**store.address.connection) as connection:
        store.join_sync(connection).perform(Start((new_job(),)))
        connection.commit()
        recorder.forget()

        recorder.receives(Hints(due={"resize"}))
    store.close_sync()


def test_a_commit_on_a_bare_connection_to_sqlite_is_heard_of(recorder: Party, wakeups: str, tmp_path: Path) -> None:
    store = SqliteStore(f"sqlite:///{tmp_path}/jobs.db", wakeups=wakeups)
    store.open_sync()

    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        store.join_sync(connection).perform(Start((new_job(),)))
        connection.commit()
        recorder.forget()

        recorder.receives(Hints(due={"resize"}))
    store.close_sync()


def _published(client: Any) -> int:
    return int(client.info("commandstats").get("cmdstat_publish", {"calls": 0})["calls"])
