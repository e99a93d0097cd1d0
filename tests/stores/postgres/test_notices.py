"""A lone start or end is told right behind its commit, so that who waits for it waits for no more round trips."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace

import psycopg
import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine import hint_buffer
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.plan import NotifyingStatement
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.wakeups import notification
from holdfast.stores.postgres.wakeups.notification import Message
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups
from holdfast.stores.sql.plan import Statement
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.watching import wait_until_blocked


@pytest.fixture
def listener(store: PostgresStore, connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute(f'listen "{notification.channel(store.schema)}"'.encode())
    return connection


def received(listener: psycopg.Connection) -> tuple[Message, str]:
    """The next notification that is not a listener's word to itself, and the last statement of who sent it."""
    with closing(listener.notifies(timeout=30)) as notices:
        said = ((notification.read(each.payload), each.pid) for each in notices)
        message, pid = next((message, pid) for message, pid in said if message.test is None)
    row = listener.execute("select query from pg_stat_activity where pid = %s", [pid]).fetchone()
    assert row is not None
    return message, row[0]


def prepared(name: str) -> str:
    """A statement as the server shows it."""
    return Renderer.of("", Style.NUMBERED)(SQL[name]).text.strip()


def test_a_lone_start_is_told_right_behind_it(store: PostgresStore, listener: psycopg.Connection) -> None:
    job = new_job()

    store.perform_sync(Start((job,)))

    message, statement = received(listener)
    assert message.d == [job.type]
    assert prepared("notify") in statement


def claim_quietly(store: PostgresStore, address: str, listener: psycopg.Connection) -> Record:
    """A job for this store, which has said nothing before: another one started it."""
    other = PostgresStore(address)
    other.open_sync()
    other.perform_sync(Start((new_job(),)))
    received(listener)
    other.close_sync()
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", new_token()))
    return job


def test_a_lone_end_is_told_right_behind_it(store: PostgresStore, address: str, listener: psycopg.Connection) -> None:
    job = claim_quietly(store, address, listener)

    store.perform_sync(Settle((completed(job),)))

    message, statement = received(listener)
    assert message.f == [job.chain_id]
    assert f'from "{store.schema}".job' in statement


def test_an_end_that_had_to_wait_for_its_job_is_told_by_a_transaction_of_its_own(
    store: PostgresStore, address: str, server: Postgres, listener: psycopg.Connection
) -> None:
    claimed = claim_quietly(store, address, listener)
    with server.connect() as holder, server.connect() as watch, ThreadPoolExecutor(1) as threads:
        with holder.transaction():
            holder.execute(f'select from "{store.schema}".job where id = %s for update'.encode(), [claimed.id])
            settling = threads.submit(store.perform_sync, Settle((completed(claimed),)))
            wait_until_blocked(watch, settling.done)
        settling.result()

    message, statement = received(listener)
    assert message.f == [claimed.chain_id]
    assert "pg_notify" in statement


def test_what_cannot_be_told_is_written_all_the_same(store: PostgresStore) -> None:
    render = Renderer.of(store.schema, Style.NUMBERED)
    connection = connect(store.address, render, limited=True)

    too_long = Statement(SQL["notify"], {"channel": "any", "payload": 9000 * "x"})
    short = Statement(SQL["notify"], {"channel": "any", "payload": "x"})
    first = connection.send(NotifyingStatement(Statement("select :now::bigint", {"now": 7}), too_long))
    second = connection.send(NotifyingStatement(Statement("select :now::bigint", {"now": 8}), short))
    connection.close()

    assert (first, first.notified) == ([(7,)], False)
    assert (second, second.notified) == ([(8,)], True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time that telling goes by."""
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(hint_buffer, "time", clock)
    return clock


def test_in_a_flood_hardly_any_statement_tells_of_itself(store: PostgresStore, clock: SimpleNamespace) -> None:
    wakeups = store.wakeups
    assert isinstance(wakeups, PostgresWakeups)
    pipelined = 0

    for _ in range(1000):
        clock.now += 0.001
        pipelined += wakeups.pipelined_notify() is not None

    assert 0 < pipelined < 100


def test_who_waits_for_each_before_the_next_hears_them_all_at_once(
    store: PostgresStore, clock: SimpleNamespace
) -> None:
    wakeups = store.wakeups
    assert isinstance(wakeups, PostgresWakeups)

    for _ in range(100):
        clock.now += 0.005
        assert wakeups.pipelined_notify() is not None
