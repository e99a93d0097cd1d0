"""No statement reads a whole partial index to find a few rows, whatever the statistics are."""

from __future__ import annotations

import psycopg
import pytest

from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.rows import SQL
from holdfast.testing.builders import completed, new_job
from holdfast.testing.lanes import laned, limit, order
from tests.stores.postgres.query_plans import generic_plan, nodes_of

READ_ALL = {
    # Reports about all pending or running jobs.
    *(
        "examine_expired",
        "examine_holders",
        "examine_oldest",
        "get_stats",
        "get_workers",
        "lanes_running",
        "lanes_waiting",
    ),
    # All running jobs are few, and the leases of most of them are compared in any case.
    "reap_expired",
}
FIRST_COLUMNS = {
    "job_due": "type", "job_leased": "type", "job_lane": "lane", "job_rare": "status",
    "track_ready": "type", "track_parked": "parked",
}  # fmt: skip
"""The partial indexes of jobs and tracks, and the column without which a search reads all of their entries."""


@pytest.fixture
def drained(store: PostgresStore, connection: psycopg.Connection) -> PostgresStore:
    """A vacuum of an empty queue sets the number of entries of these indexes to 0. The planner believes it."""
    types = (TypeTerms("resize", 60_000_000, 25),)
    store.perform_sync(Start(tuple(new_job() for _ in range(2000))))
    for rule in (limit, order):
        store.perform_sync(Start(tuple(laned(rule(key=str(number % 500))) for number in range(1000))))
    while claimed := store.perform_sync(ClaimJobs(types, 1000, "worker", new_token())):
        store.perform_sync(Settle(tuple(completed(job) for job in claimed)))
    for table in ("job", "track", "lane", "place", "permit"):
        connection.execute(f'vacuum "{store.schema}".{table}'.encode())
    return store


def test_no_statement_reads_all_entries(drained: PostgresStore, connection: psycopg.Connection) -> None:
    assert {name: found for name in set(SQL) - READ_ALL if (found := whole_reads(drained, connection, SQL[name]))} == {}


def whole_reads(store: PostgresStore, connection: psycopg.Connection, text: str) -> list[tuple[str, str]]:
    """The partial indexes that the statement may read from their first to their last entry, and its conditions."""
    return [
        (index, conditions)
        for node in nodes_of(generic_plan(store, connection, text))
        if (index := node.get("Index Name")) in FIRST_COLUMNS
        and f"({FIRST_COLUMNS[index]} " not in (conditions := node.get("Index Cond", ""))
    ]
