"""Stats do not read the backlog, and stay exact after a manual DELETE."""

from __future__ import annotations

import psycopg

from holdfast.core.record import Status
from holdfast.engine.operations import ClaimJobs, GetStats, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, new_job
from tests.stores.postgres.query_plans import blocks_of, plan


def test_a_long_backlog_does_not_slow_the_stats_down(store: PostgresStore, connection: psycopg.Connection) -> None:
    backlog(store, 1)
    with_some = blocks_of(plan(store, connection, "get_stats", {"now": None}))
    backlog(store, 20)
    connection.execute(f'vacuum analyze "{store.schema}".job'.encode())

    with_many = blocks_of(plan(store, connection, "get_stats", {"now": None}))

    assert with_many <= with_some + 20


def test_jobs_that_were_deleted_manually_are_not_counted(store: PostgresStore, connection: psycopg.Connection) -> None:
    backlog(store, 1)
    jobs = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 10, "worker", "token"))
    store.perform_sync(Settle(tuple(completed(job) for job in jobs)))

    connection.execute(f'delete from "{store.schema}".job where seq % 2 = 0'.encode())

    (stats,) = store.perform_sync(GetStats())
    assert (stats.counts, stats.due) == ({Status.COMPLETED: 5, Status.PENDING: 245}, 245)


def backlog(store: PostgresStore, rounds: int) -> None:
    """Start five hundred jobs in each round, a few of them for later."""
    for _ in range(rounds):
        store.perform_sync(Start((*(new_job() for _ in range(499)), new_job(delay=3600))))
