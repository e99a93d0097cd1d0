"""The first statements of a claim of jobs with lanes: when it begins with tracks, and which changes it takes."""

from __future__ import annotations

from contextlib import closing

import psycopg

from holdfast.engine.operations import ClaimJobs, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.claim import claim
from holdfast.stores.sql.plan import Statement
from tests.servers.postgres import Postgres
from tests.stores.postgres.query_plans import rows_of


def first_statement(context: PlanContext, *types: str, limit: int = 10, ahead: int = 0) -> str:
    terms = tuple(TypeTerms(type, 1_000_000, 25) for type in types)
    statement = next(claim(context, ClaimJobs(terms, limit, "worker", "token", ahead=ahead)))
    assert isinstance(statement, Statement)
    return statement.sql


def test_after_a_claim_of_jobs_with_lanes_the_next_one_reads_tracks_at_once() -> None:
    context = PlanContext()
    context.scan_starts.took_lanes = ["render", "resize"]

    assert first_statement(context, "render", "resize") == SQL["lanes_admit"]


def test_a_claim_of_other_types_or_without_free_slots_reads_plain_jobs_first() -> None:
    context = PlanContext()
    assert first_statement(context, "render") == SQL["claim"]

    context.scan_starts.took_lanes = ["render"]
    assert first_statement(context, "resize") == SQL["claim"]
    assert first_statement(context, "render", limit=0, ahead=5) == SQL["claim"]


def test_changes_behind_those_that_another_claim_holds_are_taken(
    store: PostgresStore, server: Postgres, connection: psycopg.Connection
) -> None:
    store.migrate_sync()
    single = "select array['gpu' || chr(31) || number] from generate_series(1, 30) number"
    connection.execute(f'insert into "{store.schema}".lane_change (lanes) {single}'.encode())
    with closing(server.connect()) as other, other.transaction():
        assert len(rows_of(store, other, SQL["lane_changes"], {"limit": 10})) == 10

        assert len(rows_of(store, connection, SQL["lane_changes"], {"limit": 10})) == 10


def test_a_claim_takes_changes_until_they_have_enough_lanes(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    store.migrate_sync()
    many = "select array['a', 'b', 'c', 'd'], 4 from generate_series(1, 5)"
    connection.execute(f'insert into "{store.schema}".lane_change (lanes, size) {many}'.encode())

    taken = [len(rows_of(store, connection, SQL["lane_changes"], {"limit": 10})) for _ in range(3)]

    assert taken == [12, 8, 0]
