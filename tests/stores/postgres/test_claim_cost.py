"""The cost of a claim with a long history and with an old snapshot, measured in blocks read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, RetryJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.verbs import scan_starts
from holdfast.testing import ManualClock
from holdfast.testing.builders import completed, failed, new_job, released
from tests.servers.postgres import Postgres
from tests.stores.postgres.query_plans import blocks_of, plan

TERMS = (TypeTerms("resize", 60_000_000, 25),)


@pytest.fixture
def scan_clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Every claim keeps where the next one starts. The age is measured by this clock, which the test moves."""
    monkeypatch.setattr(scan_starts, "SLOW", 0)
    monkeypatch.setattr(scan_starts, "DEAD", 0)
    clock = SimpleNamespace(now=1.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(scan_starts, "time", clock)
    return clock


def churn(store: PostgresStore, rounds: int) -> None:
    for _ in range(rounds):
        store.perform_sync(Start(tuple(new_job() for _ in range(200))))
        jobs = claim(store, 200)
        store.perform_sync(Settle(tuple(completed(job) for job in jobs)))


def claim(store: PostgresStore, limit: int) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, limit, "worker", new_token()))


def blocks_of_a_claim(store: PostgresStore, connection: psycopg.Connection, start: Record | None = None) -> int:
    """The number of blocks that a claim of ten jobs reads, starting at this job if there is one. It is rolled back."""
    parameters: dict[str, Any] = {
        "now": None,
        "types": ["resize"],
        "leases": [60_000_000],
        "limits": [25],
        "aheads": [False],
        "limit": 10,
        "ahead": 0,
        "worker": "worker",
        "token": "token",
        "finds_new": False,
    }
    if start is None:
        return blocks_of(plan(store, connection, "claim", parameters | {"unless_lanes": True}))
    starts = {"scanned": [start.type], "priorities": [0], "scheduled": [start.scheduled_at], "seqs": [start.seq]}
    return blocks_of(plan(store, connection, "claim_from", parameters | starts))


def test_a_long_history_does_not_slow_a_claim_down(store: PostgresStore, connection: psycopg.Connection) -> None:
    store.perform_sync(Start(tuple(new_job() for _ in range(100))))
    finish(store, connection, 2_500)
    with_some = blocks_of_a_claim(store, connection)
    finish(store, connection, 50_000)

    with_many = blocks_of_a_claim(store, connection)

    # An index that is twenty times as large may be one level deeper; otherwise the number does not grow.
    assert with_many <= with_some * 1.5


def finish(store: PostgresStore, connection: psycopg.Connection, jobs: int) -> None:
    """Add completed jobs."""
    connection.execute(
        f"""insert into "{store.schema}".job (id, type, chain_id, status, created_at, scheduled_at, finished_at, input)
            select id, 'resize', id, 'completed', 0, 0, 0, '{{}}'
              from (select gen_random_uuid()::text as id from generate_series(1, {jobs})) ids""".encode()
    )
    connection.execute(f'vacuum analyze "{store.schema}".job'.encode())


def test_an_old_snapshot_does_not_make_claims_scan_dead_entries(
    own_server: Postgres,
) -> None:
    store = PostgresStore(own_server.address(notify="off"))
    store.migrate_sync()
    with own_server.connect() as idle, own_server.connect() as connection:
        idle.execute("begin isolation level repeatable read")
        idle.execute("select 1")
        churn(store, 25)
        store.perform_sync(Start(tuple(new_job() for _ in range(60))))
        (job,) = claim(store, 1)

        from_the_start, full = blocks_of_a_claim(store, connection, job), blocks_of_a_claim(store, connection)

        assert from_the_start * 3 < full
        idle.execute("rollback")
    store.close_sync()


def test_a_job_returned_to_pending_before_the_start_is_found_by_a_full_scan(
    store: PostgresStore, address: str, scan_clock: SimpleNamespace
) -> None:
    store.perform_sync(Start(tuple(new_job() for _ in range(4))))
    (first,) = claim(store, 1)
    claim(store, 1)
    other = PostgresStore(address)
    other.perform_sync(Settle((released(first),)))
    other.close_sync()
    assert first.id not in {job.id for job in claim(store, 1)}

    scan_clock.now += 3600

    assert first.id in {job.id for job in claim(store, 5)}


@pytest.mark.usefixtures("scan_clock")
def test_a_new_job_of_a_type_that_had_none_does_not_wait_for_the_full_scan(
    store: PostgresStore,
) -> None:
    both = (*TERMS, TypeTerms("index", 60_000_000, 25))
    store.perform_sync(Start((new_job(), new_job())))
    store.perform_sync(ClaimJobs(both, 1, "worker", new_token()))

    store.perform_sync(Start((new_job(type="index"),)))

    claimed = store.perform_sync(ClaimJobs(both, 5, "worker", new_token()))
    assert [job.type for job in claimed] == ["resize", "index"]


@pytest.mark.usefixtures("scan_clock")
def test_with_the_clock_of_a_test_every_claim_is_a_full_scan(store: PostgresStore) -> None:
    """Its time may not advance, so a job that returns to pending may stay before the start forever."""
    store.clock = ManualClock()
    store.perform_sync(Start((new_job(), new_job())))
    (first,), (second,) = claim(store, 1), claim(store, 1)
    store.perform_sync(Settle((failed(first), failed(second))))

    store.perform_sync(RetryJobs((first.id, second.id)))

    assert {job.id for job in claim(store, 2)} == {first.id, second.id}
