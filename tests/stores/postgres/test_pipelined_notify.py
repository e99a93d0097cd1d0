"""The NOTIFY of a single start or settlement is pipelined behind its commit, without another round trip."""

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
from holdfast.stores.postgres.wakeups.notification import NotificationContent
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups
from holdfast.stores.sql.plan import Statement
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.waiting import wait_until_blocked


@pytest.fixture
def listener(store: PostgresStore, connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute(f'listen "{notification.channel(store.schema)}"'.encode())
    return connection


def received(listener: psycopg.Connection) -> tuple[NotificationContent, str]:
    """The next notification that is not a test, and the last statement of its sender."""
    with closing(listener.notifies(timeout=30)) as notifies:
        messages = ((notification.read(each.payload), each.pid) for each in notifies)
        message, pid = next((message, pid) for message, pid in messages if message.test is None)
    row = listener.execute("select query from pg_stat_activity where pid = %s", [pid]).fetchone()
    assert row is not None
    return message, row[0]


def prepared(name: str) -> str:
    """The text of a statement in pg_stat_activity."""
    return Renderer.of("", Style.NUMBERED)(SQL[name]).text.strip()


def test_the_notify_of_a_single_start_is_pipelined(store: PostgresStore, listener: psycopg.Connection) -> None:
    job = new_job()

    store.perform_sync(Start((job,)))

    message, statement = received(listener)
    assert message.d == [job.type]
    assert prepared("notify") in statement


def claim_without_hints(store: PostgresStore, address: str, listener: psycopg.Connection) -> Record:
    """Claim a job that another store started, so that this store has sent no hints before."""
    other = PostgresStore(address)
    other.open_sync()
    other.perform_sync(Start((new_job(),)))
    received(listener)
    other.close_sync()
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", new_token()))
    return job


def test_the_notify_of_a_single_settlement_is_pipelined(
    store: PostgresStore, address: str, listener: psycopg.Connection
) -> None:
    job = claim_without_hints(store, address, listener)

    store.perform_sync(Settle((completed(job),)))

    message, statement = received(listener)
    assert message.f == [job.chain_id]
    assert f'from "{store.schema}".job' in statement


def test_a_settlement_that_waited_for_its_job_notifies_in_a_separate_transaction(
    store: PostgresStore, address: str, server: Postgres, listener: psycopg.Connection
) -> None:
    claimed = claim_without_hints(store, address, listener)
    with server.connect() as holder, server.connect() as watch, ThreadPoolExecutor(1) as threads:
        with holder.transaction():
            holder.execute(f'select from "{store.schema}".job where id = %s for update'.encode(), [claimed.id])
            settling = threads.submit(store.perform_sync, Settle((completed(claimed),)))
            wait_until_blocked(watch, settling.done)
        settling.result()

    message, statement = received(listener)
    assert message.f == [claimed.chain_id]
    assert "pg_notify" in statement


def test_a_statement_is_committed_even_if_its_notify_fails(store: PostgresStore) -> None:
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
    """The clock of the pauses between notifications."""
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(hint_buffer, "time", clock)
    return clock


def test_at_high_rates_few_notifies_are_pipelined(store: PostgresStore, clock: SimpleNamespace) -> None:
    wakeups = store.wakeups
    assert isinstance(wakeups, PostgresWakeups)
    pipelined = 0

    for _ in range(1000):
        clock.now += 0.001
        pipelined += wakeups.pipelined_notify() is not None

    assert 0 < pipelined < 100


def test_at_low_rates_every_notify_is_pipelined(store: PostgresStore, clock: SimpleNamespace) -> None:
    wakeups = store.wakeups
    assert isinstance(wakeups, PostgresWakeups)

    for _ in range(100):
        clock.now += 0.005
        assert wakeups.pipelined_notify() is not None
