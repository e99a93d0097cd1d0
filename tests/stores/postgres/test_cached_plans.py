"""Verbs read few rows although their statements were planned while the tables were empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psycopg
import pytest

from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, NextDue, Reap, Renew, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.address import parse
from holdfast.stores.postgres.connection import plan_age
from holdfast.stores.postgres.connection.plan_age import KEEP_SECONDS, SLOW_SECONDS, PlanAge
from holdfast.testing.builders import completed, failed, new_job
from holdfast.testing.lanes import laned, limit, order
from tests.stores.postgres.query_plans import plan, scans_of
from tests.waiting import wait_until

HOUR = 3_600_000_000
ROUNDS = 10
TYPES = ("plain", "limited", "ordered")
SIZES = {"job": 9000, "track": 2000, "lane": 2000, "lane_change": 6000}
"""The number of rows that each table has after `load`."""


@pytest.fixture
def unanalyzed(address: str, connection: psycopg.Connection) -> Iterator[PostgresStore]:
    """A store whose tables have no statistics, and get none. Its sessions have the name of the schema."""
    name = parse(address).schema
    store = PostgresStore(f"{address}&application_name={name}")
    store.migrate_sync()
    for table in SIZES:
        connection.execute(f'alter table "{store.schema}".{table} set (autovacuum_enabled = false)'.encode())
    yield store
    store.close_sync()


def test_without_statistics_no_verb_reads_a_whole_table(
    unanalyzed: PostgresStore, connection: psycopg.Connection
) -> None:
    perform_verbs(unanalyzed)
    load(unanalyzed, connection)

    perform_verbs(unanalyzed)
    perform_single_lane_claims(unanalyzed)

    unanalyzed.close_sync()
    assert tables_read_whole(unanalyzed, connection) == []


def test_a_completion_in_a_session_of_the_application_is_not_planned_each_time(unanalyzed: PostgresStore) -> None:
    unanalyzed.perform_sync(Start(tuple(new_job() for _ in range(3000))))
    jobs = unanalyzed.perform_sync(ClaimJobs((TypeTerms("resize", HOUR, 25),), 20, "w", "token"))

    for job in jobs:
        transaction = unanalyzed.begin_sync()
        transaction.perform(Settle((completed(job),)))
        transaction.commit()

    transaction = unanalyzed.begin_sync()
    [(custom, generic)] = transaction.native.execute(
        "select custom_plans, generic_plans from pg_prepared_statements where statement like '%status = ''completed''%'"
    ).fetchall()
    transaction.rollback()
    assert (custom, generic) == (5, 15)  # the server compares both kinds after five executions


def test_with_statistics_of_empty_tables_no_verb_reads_a_whole_table_after_a_slow_statement(
    unanalyzed: PostgresStore, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in SIZES:
        connection.execute(f'analyze "{unanalyzed.schema}".{table}'.encode())
    perform_verbs(unanalyzed)
    load(unanalyzed, connection)
    monkeypatch.setattr(plan_age, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(plan_age, "KEEP_SECONDS", 0.0)

    perform_verbs(unanalyzed)

    unanalyzed.close_sync()
    assert tables_read_whole(unanalyzed, connection) == []


def test_with_statistics_of_a_drained_queue_no_verb_reads_all_pending_or_running_jobs(
    unanalyzed: PostgresStore, connection: psycopg.Connection
) -> None:
    complete(unanalyzed, connection, 50_000)
    for table in SIZES:
        connection.execute(f'analyze "{unanalyzed.schema}".{table}'.encode())
    load(unanalyzed, connection)
    other = PostgresStore(unanalyzed.address)
    for type in TYPES:
        assert len(claim(other, 300, (type,))) == 300
    other.close_sync()

    perform_verbs(unanalyzed)
    perform_single_lane_claims(unanalyzed)

    unanalyzed.close_sync()
    assert tables_read_whole(unanalyzed, connection) == []


def test_with_statistics_from_before_the_starts_the_changes_of_new_jobs_are_read_once(
    unanalyzed: PostgresStore, connection: psycopg.Connection
) -> None:
    lanes = "(lanes) select array['gpu' || chr(31) || number] from generate_series(1, 500) number"
    connection.execute(f'insert into "{unanalyzed.schema}".lane_change {lanes}'.encode())
    connection.execute(f'analyze "{unanalyzed.schema}".lane_change'.encode())
    load(unanalyzed, connection)

    scans = scans_of(plan(unanalyzed, connection, "lanes_admit", {"limit": 1000}), "lane_change")

    assert scans
    assert [each for each in scans if each.get("Rows Removed by Filter")] == []


def test_statements_are_planned_again_after_a_slow_one_unless_the_plans_are_new() -> None:
    plans = PlanAge(0.0)
    plans.performed(KEEP_SECONDS / 2, KEEP_SECONDS / 2 + SLOW_SECONDS)
    assert not plans.outdated
    plans.performed(KEEP_SECONDS, KEEP_SECONDS + SLOW_SECONDS / 2)
    assert not plans.outdated
    plans.performed(KEEP_SECONDS, KEEP_SECONDS + SLOW_SECONDS * 2)
    assert plans.outdated

    plans.discarded(KEEP_SECONDS * 2)

    plans.performed(KEEP_SECONDS * 2, KEEP_SECONDS * 2 + SLOW_SECONDS * 2)
    assert not plans.outdated


def load(store: PostgresStore, connection: psycopg.Connection) -> None:
    """Start many jobs, in other sessions. Each has a change of its own, as if it was started by itself."""
    other = PostgresStore(store.address)
    for _ in range(3):
        other.perform_sync(Start(tuple(new_job("plain") for _ in range(1000))))
        other.perform_sync(Start(tuple(laned(limit(key=str(key)), type="limited") for key in range(1000))))
        other.perform_sync(Start(tuple(laned(order(key=str(key)), type="ordered") for key in range(1000))))
    other.close_sync()
    connection.execute(
        f"""with many as (delete from "{store.schema}".lane_change where size > 1 returning tracks, details)
            insert into "{store.schema}".lane_change (tracks, details)
            select array[each.track], array[each.details]
              from many, unnest(many.tracks, many.details) each (track, details)""".encode()
    )


def complete(store: PostgresStore, connection: psycopg.Connection, jobs: int) -> None:
    """Add completed jobs."""
    connection.execute(
        f"""insert into "{store.schema}".job (id, type, chain_id, status, created_at, scheduled_at, finished_at, input)
            select id, 'plain', id, 'completed', 0, 0, 0, '{{}}'
              from (select gen_random_uuid()::text as id from generate_series(1, {jobs})) ids""".encode()
    )


def perform_verbs(store: PostgresStore) -> None:
    for _ in range(ROUNDS):
        claimed = claim(store)
        store.perform_sync(NextDue(TYPES))
        store.perform_sync(Renew(tuple((job.claim, HOUR) for job in claimed)))
        store.perform_sync(Reap(TYPES, (), 100))
        store.perform_sync(Settle(tuple(completed(job) for job in claimed[:5])))
        store.perform_sync(Settle(tuple(failed(job) for job in claimed[5:])))


def perform_single_lane_claims(store: PostgresStore) -> None:
    """Claims of one job of each of many lanes."""
    for _ in range(ROUNDS):
        for type in TYPES[1:]:
            store.perform_sync(Settle(tuple(completed(job) for job in claim(store, types=(type,)))))


def claim(store: PostgresStore, limit: int = 10, types: Sequence[str] = TYPES) -> list[Record]:
    return store.perform_sync(ClaimJobs(tuple(TypeTerms(type, HOUR, 3) for type in types), limit, "worker", "token"))


def tables_read_whole(store: PostgresStore, connection: psycopg.Connection) -> list[tuple[str, int]]:
    """The tables of which the ended sessions read as many rows as if one verb had read all rows in every round.

    The running jobs of its types are not all rows: each search for expired leases reads them.
    """
    active = "select count(*) from pg_stat_activity where application_name = %s"
    wait_until(lambda: connection.execute(active, (store.schema,)).fetchall() == [(0,)])
    rows = connection.execute(
        """select relname, seq_tup_read + (select sum(idx_tup_read)::bigint from pg_stat_user_indexes indexes
                                            where indexes.relid = tables.relid)
             from pg_stat_user_tables tables
            where schemaname = %s""",
        (store.schema,),
    )
    return [(table, read) for table, read in rows if table in SIZES and read >= SIZES[table] * ROUNDS]
