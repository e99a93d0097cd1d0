"""Lists of one status read few rows, also if the statistics of the planner are older than the backlog."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from holdfast.core.record import Status
from holdfast.engine.operations import ClaimJobs, Filter, ListChains, ListJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs.list_jobs import list_chains, list_jobs
from holdfast.stores.sql.listing import NEWEST, RECENT
from holdfast.stores.sql.plan import Statement
from holdfast.testing.builders import failed, new_job
from tests.stores.postgres.query_plans import nodes_of, plan_of, rows_of

HOUR = 3_600_000_000
JOBS = RECENT * 3 // 2


@pytest.fixture
def incident(store: PostgresStore, connection: psycopg.Connection) -> PostgresStore:
    """Statistics of an empty table, then many failed jobs and more pending ones."""
    connection.execute(f'vacuum analyze "{store.schema}".job'.encode())
    connection.execute(f'alter table "{store.schema}".job set (autovacuum_enabled = false)'.encode())
    for type in ("charge", "ship"):
        store.perform_sync(Start(tuple(new_job(type) for _ in range(JOBS // 2))))
        jobs = store.perform_sync(ClaimJobs((TypeTerms(type, HOUR, 1),), JOBS // 2, "worker", "token"))
        store.perform_sync(Settle(tuple(failed(job) for job in jobs)))
    for type in ("charge", "ship"):
        store.perform_sync(Start(tuple(new_job(type) for _ in range(JOBS // 2))))
    return store


def test_a_page_of_a_status_reads_few_rows(incident: PostgresStore, connection: psycopg.Connection) -> None:
    for status in (Status.PENDING, Status.FAILED):
        wanted = Filter(statuses=(status,))
        for listed in (
            list_jobs(PlanContext(), ListJobs(wanted, 50)),
            list_chains(PlanContext(), ListChains(wanted, 50)),
        ):
            found, read = _performed(incident, connection, listed)

            assert len(found) == 50
            # The recent jobs of any status; or the newest of two types, their last jobs and their first jobs.
            assert max(read) <= max(RECENT, 4 * NEWEST) + 500, (status, read)


def test_a_list_starts_no_parallel_processes(incident: PostgresStore, connection: psycopg.Connection) -> None:
    """As on a table of ten million jobs, where the planner expects parallel processes to be faster."""
    for setting in ("min_parallel_table_scan_size", "min_parallel_index_scan_size", "parallel_setup_cost"):
        connection.execute(f"set {setting} = 0".encode())
    connection.execute("set parallel_tuple_cost = 0")
    connection.execute(f'analyze "{incident.schema}".job'.encode())
    wanted = Filter(types=("charge",), statuses=(Status.COMPLETED,))

    plans = _plans(incident, connection, list_jobs(PlanContext(), ListJobs(wanted, 50)))

    assert [node["Node Type"] for each in plans for node in nodes_of(each) if "Gather" in node["Node Type"]] == []


def _plans(store: PostgresStore, connection: psycopg.Connection, listed: Any) -> list[dict[str, Any]]:
    """The query plans of the statements of a plan."""
    plans: list[dict[str, Any]] = []
    statement: Statement = next(listed)
    while True:
        parameters: Any = statement.parameters
        plans.append(plan_of(store, connection, statement.sql, parameters))
        try:
            statement = listed.send(rows_of(store, connection, statement.sql, parameters))
        except StopIteration:
            return plans


def _performed(store: PostgresStore, connection: psycopg.Connection, listed: Any) -> tuple[list[Any], list[int]]:
    """The result of a plan, and the number of rows that each of its statements read."""
    read: list[int] = []
    statement: Statement = next(listed)
    while True:
        parameters: Any = statement.parameters
        read.append(_rows(plan_of(store, connection, statement.sql, parameters)))
        try:
            statement = listed.send(rows_of(store, connection, statement.sql, parameters))
        except StopIteration as ended:
            return ended.value, read


def _rows(node: dict[str, Any]) -> int:
    """The number of rows that all scans of a plan read, in all loops."""
    return sum(
        (each["Actual Rows"] + each.get("Rows Removed by Filter", 0) + each.get("Rows Removed by Join Filter", 0))
        * each["Actual Loops"]
        for each in nodes_of(node)
        if ("Scan" in each["Node Type"] and each.get("Relation Name") == "job") or "Join Filter" in each
    )
