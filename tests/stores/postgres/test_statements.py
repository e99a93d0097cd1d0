"""The server accepts every statement, and the frequent ones have the expected query plans."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.address import parse
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.rows import SQL
from holdfast.testing.builders import completed, failed, new_job
from tests.servers.postgres_schemas import emptied_address
from tests.stores.postgres.query_plans import nodes_of, plan, scans_of

HOUR = 3_600_000_000


@pytest.mark.parametrize("name", SQL)
def test_a_statement_is_prepared_by_the_server(name: str, connection: psycopg.Connection) -> None:
    text = SQL[name].replace("/* narrowed */", "")
    rendered = Renderer.of(parse(emptied_address()).schema, Style.NUMBERED)(text)

    connection.execute(b"prepare tried as " + rendered.encoded, prepare=False)

    types = connection.execute("select parameter_types::text[] from pg_prepared_statements").fetchone()
    connection.execute("deallocate tried")
    assert types is not None
    assert len(types[0]) == len(rendered.names)
    for parameter in rendered.names:
        assert re.search(rf":{parameter}::\w", text), f"{parameter} of {name} has no cast"


@pytest.mark.parametrize("name", SQL)
def test_a_statement_names_its_schema_everywhere(name: str) -> None:
    tables = "job|blocker|attempt|key|paused|tally|listener|event|migration|record"
    tables += "|counter_change|counter|error_group|error_count|step|message"
    text = re.sub(r"\s+", " ", SQL[name])

    assert not re.search(rf"\b(insert into|update|delete from) ({tables})\b", text)


@pytest.fixture
def busy(store: PostgresStore, connection: psycopg.Connection) -> PostgresStore:
    """Many finished, due and scheduled jobs of several types and priorities."""
    for priority in (0, 5):
        store.perform_sync(Start(tuple(new_job("resize", priority=priority) for _ in range(1500))))
        store.perform_sync(Start(tuple(new_job("resize", priority=priority, delay=3600) for _ in range(1500))))
    store.perform_sync(Start(tuple(new_job("publish") for _ in range(500))))
    for _ in range(4):
        jobs = store.perform_sync(ClaimJobs((TypeTerms("resize", HOUR, 25),), 250, "worker", "token"))
        store.perform_sync(Settle(tuple(completed(job) for job in jobs)))
    connection.execute(f'vacuum analyze "{store.schema}".job'.encode())
    return store


def test_a_claim_reads_only_the_jobs_that_it_returns(busy: PostgresStore, connection: psycopg.Connection) -> None:
    parameters = claim(("resize", "publish"), limit=10)

    scans = scans_of(plan(busy, connection, "claim", parameters), "job")

    assert {scan["Node Type"] for scan in scans} <= {"Index Scan", "Index Only Scan"}
    assert {scan["Index Name"] for scan in scans} == {"job_due", "job_pkey"}
    for scan in scans:
        assert scan["Actual Rows"] <= 10, scan
        assert scan.get("Rows Removed by Filter", 0) == 0


def test_a_claim_of_several_levels_locks_no_more_than_its_limit(
    busy: PostgresStore, connection: psycopg.Connection
) -> None:
    nodes = list(nodes_of(plan(busy, connection, "claim", claim(("resize", "publish"), limit=10))))

    locked = sum(node["Actual Rows"] * node["Actual Loops"] for node in nodes if node["Node Type"] == "LockRows")
    assert locked == 10


def test_a_settlement_finds_its_jobs_by_their_ids(busy: PostgresStore, connection: psycopg.Connection) -> None:
    jobs = busy.perform_sync(ClaimJobs((TypeTerms("resize", HOUR, 25),), 100, "worker", "token"))
    parameters = {
        "now": None,
        "ids": [job.id for job in jobs],
        "tokens": [job.token for job in jobs],
        "outputs": [b"null"] * len(jobs),
        "keeps": [],
        "aheads": [],
        "all": False,
        "ends": True,
    }

    nodes = list(nodes_of(plan(busy, connection, "settle_completed", parameters)))

    scanned = {node["Index Name"] for node in nodes if "Index Name" in node and node["Actual Loops"]}
    assert scanned - {"place_chain"} == {"job_id", "job_pkey"}
    assert not [node for node in nodes if node["Node Type"] == "Seq Scan" and node["Relation Name"] == "job"]


def test_the_next_due_time_does_not_read_the_backlog(busy: PostgresStore, connection: psycopg.Connection) -> None:
    scans = scans_of(plan(busy, connection, "next_due", {"types": ["resize", "publish"], "now": None}), "job")

    assert {scan["Index Name"] for scan in scans} <= {"job_due", "job_leased"}
    assert all(scan["Actual Rows"] <= 1 for scan in scans)


def test_a_renewal_is_a_hot_update(busy: PostgresStore, connection: psycopg.Connection) -> None:
    jobs = busy.perform_sync(ClaimJobs((TypeTerms("publish", HOUR, 25),), 50, "worker", "token"))
    parameters = {
        "now": None,
        "ids": [job.id for job in jobs],
        "tokens": [job.token for job in jobs],
        "leases": [HOUR] * len(jobs),
    }
    connection.execute(f'vacuum "{busy.schema}".job'.encode())
    before = hot_updates(connection, busy.schema)

    with connection.transaction():
        run(busy, connection, "renew", parameters)

    # Not all of them: claims of other jobs may have filled a page.
    assert hot_updates(connection, busy.schema) > before
    indexed = connection.execute(
        "select count(*) from pg_indexes where schemaname = %s and indexdef ~ 'leased_until|renewed_at|progress'",
        [busy.schema],
    ).fetchone()
    assert indexed == (0,)


def claim(types: tuple[str, ...], *, limit: int) -> dict[str, Any]:
    return {
        "now": None,
        "types": list(types),
        "leases": [HOUR] * len(types),
        "limits": [25] * len(types),
        "aheads": [False] * len(types),
        "limit": limit,
        "ahead": 0,
        "worker": "worker",
        "token": "token",
        "unless_lanes": True,
        "finds_new": False,
    }


def run(store: PostgresStore, connection: psycopg.Connection, name: str, parameters: dict[str, Any]) -> None:
    connection.execute(Renderer.of(store.schema, Style.NAMED)(SQL[name]).encoded, parameters)


def hot_updates(connection: psycopg.Connection, schema: str) -> int:
    connection.execute("select pg_stat_clear_snapshot()")
    row = connection.execute(
        "select coalesce(pg_stat_get_xact_tuples_hot_updated(%(table)s::regclass), 0)"
        " + pg_stat_get_tuples_hot_updated(%(table)s::regclass)",
        {"table": f'"{schema}".job'},
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_errors_are_searched_although_the_server_could_use_a_parallel_query(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    for number in range(3):
        store.perform_sync(Start((new_job(id=f"job-{number}"),)))
    (job, *_) = store.perform_sync(ClaimJobs((TypeTerms("resize", HOUR, 1),), 3, "worker", "token"))
    store.perform_sync(Settle((failed(job, "no luck"),)))
    for setting in ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0"):
        connection.execute(f"set {setting}".encode())
    connection.execute("set enable_indexscan = off")

    search = f"select id from {store.schema}.readable where error ->> 1 = 'no luck'"

    assert connection.execute(search.encode()).fetchall() == [(job.id,)]
