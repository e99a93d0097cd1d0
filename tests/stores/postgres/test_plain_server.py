"""PostgreSQL without LISTEN, NOTIFY and advisory locks: the store keeps the contract, with wake-ups through NATS.

The suite runs the topics that lock rows or send wake-ups. `make plain-server` runs every case.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier

import psycopg
import pytest

from holdfast import Jobs, SyncClient
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.migration import migrations, script
from holdfast.testing.conformance import CASES, Case, Mode, StoreFactory
from tests.servers.nats import shared_nats
from tests.stores.postgres.plain_server import plain_address, plain_postgres, statement_log

PROCESSES = 4
TOPICS = {"claim", "counters", "dedup", "events", "prune", "races", "reap", "schedules", "wakeups"}
SELECTED = [case for case in CASES if case.topic in TOPICS or "HOLDFAST_EVERY_CASE" in os.environ]


@cache
def shared_schema() -> str:
    """One schema for all cases: creating the tables takes longer than most cases."""
    address = plain_address()
    PostgresStore(address).migrate_sync()
    return address


@cache
def tables() -> str:
    schema = PostgresStore(shared_schema()).schema
    with plain_postgres().connect() as connection:
        found = connection.execute("select tablename from pg_tables where schemaname = %s", [schema]).fetchall()
    names = [name for (name,) in found if name not in ("migration", "counter_lock")]
    return "; ".join(f"delete from {schema}.{name}" for name in names)


@pytest.fixture
def make_store() -> StoreFactory:
    address = shared_schema()
    with plain_postgres().connect() as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute(tables().encode())
    wakeups = shared_nats().address()
    return lambda: PostgresStore(address, wakeups=wakeups)


@pytest.mark.parametrize("case", SELECTED, ids=str)
def test_the_store_keeps_the_contract(case: Case, make_store: StoreFactory) -> None:
    case.run(make_store, Mode.ASYNC)

    assert statement_log().forbidden() == []


def test_the_server_refuses_what_such_a_server_does_not_have() -> None:
    with plain_postgres().connect(user="plain") as connection:
        for statement in ("select pg_notify('a', 'b')", "select pg_advisory_xact_lock(1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


def test_workers_poll_without_other_wake_ups() -> None:
    jobs = Jobs()

    @jobs.job
    def add(a: int, b: int) -> int:
        return a + b

    with SyncClient(plain_address(), jobs) as client:
        client.store.migrate_sync()
        assert not client.store.wakeups.healthy
        assert client.start(add.bind(1, 2)) is not None

    assert statement_log().forbidden() == []


def test_processes_that_migrate_at_once_all_succeed() -> None:
    address = plain_address()
    barrier = Barrier(PROCESSES)

    def migrate(_: int) -> list[str]:
        store = PostgresStore(address)
        barrier.wait()
        return store.migrate_sync()

    with ThreadPoolExecutor(PROCESSES) as threads:
        applied = list(threads.map(migrate, range(PROCESSES)))

    assert sum(bool(names) for names in applied) == 1


def test_the_script_of_the_migrations_runs() -> None:
    schema = PostgresStore(plain_address()).schema

    with plain_postgres().connect(user="plain") as connection:
        connection.execute(script(schema).encode())
        connection.execute(script(schema).encode())
        found = connection.execute(f"select count(*) from {schema}.migration".encode()).fetchone()

    assert found == (len(migrations()),)
