"""A lone start or end is told by its own commit, so that nobody who waits for it waits for one more round trip."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import psycopg
import pytest

from holdfast import coalescing
from holdfast.coalescing import Floor, Gap
from holdfast.ids import new_token
from holdfast.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.sql.plan import Many, Row, Statement
from holdfast.stores.postgres import PostgresStore, notification
from holdfast.stores.postgres.link import Link
from holdfast.stores.postgres.notification import Message
from holdfast.stores.postgres.wakeups import PostgresWakeups
from holdfast.testing.builders import completed, new_job


@pytest.fixture
def listener(store: PostgresStore, connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute(f'listen "{notification.channel(store.schema)}"'.encode())
    return connection


def heard(listener: psycopg.Connection) -> tuple[Message, str]:
    """The next notification that is not a listener's word to itself, and the last statement of who sent it."""
    with closing(listener.notifies(timeout=30)) as notices:
        said = ((notification.read(each.payload), each.pid) for each in notices)
        message, pid = next((message, pid) for message, pid in said if message.test is None)
    row = listener.execute("select query from pg_stat_activity where pid = %s", [pid]).fetchone()
    assert row is not None
    return message, row[0]


def test_a_lone_start_is_told_by_its_own_commit(store: PostgresStore, listener: psycopg.Connection) -> None:
    job = new_job()

    store.perform_sync(Start((job,)))

    message, statement = heard(listener)
    assert message.d == [job.type]
    assert "insert into" in statement


def test_a_lone_end_is_told_by_its_own_commit(store: PostgresStore, address: str, listener: psycopg.Connection) -> None:
    other = PostgresStore(address)  # so that this one has said nothing before
    other.open_sync()
    other.perform_sync(Start((new_job(),)))
    heard(listener)
    other.close_sync()
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", new_token()))

    store.perform_sync(Settle((completed(job),)))

    message, statement = heard(listener)
    assert message.f == [job.chain_id]
    assert "update" in statement


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time that telling goes by."""
    clock = SimpleNamespace(now=1000.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(coalescing, "time", clock)
    return clock


def test_commits_that_wait_for_each_other_on_a_slow_disk_are_a_flood(clock: SimpleNamespace) -> None:
    """They end 5 ms apart, each for itself, like those of a caller who waits for each before the next."""
    gap, floor, voices = Gap(), Floor(), 0

    for _ in range(1000):
        voiced = gap.over() and floor.take()
        clock.now += 0.005
        if voiced:
            floor.leave(spoke=True)
            gap.sent()
            voices += 1

    assert 0 < voices < 100


def test_who_waits_for_each_quick_commit_before_the_next_hears_them_all_by_their_commits(
    clock: SimpleNamespace,
) -> None:
    gap, floor = Gap(), Floor()

    for _ in range(100):
        clock.now += 0.004
        assert gap.over()
        assert floor.take()
        clock.now += 0.001
        floor.leave(spoke=True)
        gap.sent()


def test_one_statement_at_a_time_tells_of_itself(store: PostgresStore, clock: SimpleNamespace) -> None:
    wakeups = store.wakeups
    assert isinstance(wakeups, PostgresWakeups)

    first, second = wakeups.voice(), wakeups.voice()
    wakeups.silent(spoke=True)

    assert (first is None, second is None) == (False, True)
    assert wakeups.voice() is not None


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_statement_that_fails_takes_nobody_the_word(
    store: PostgresStore, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    wakeups = store.wakeups
    assert isinstance(wakeups, PostgresWakeups)

    def fail(self: Link, step: Statement | Many) -> list[Row]:
        assert wakeups.voice() is None  # it has it
        raise error

    monkeypatch.setattr(Link, "send", fail)

    with pytest.raises(error):
        store.perform_sync(Start((new_job(),)))

    assert wakeups.voice() is not None
