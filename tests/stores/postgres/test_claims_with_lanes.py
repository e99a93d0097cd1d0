"""A claim reads tracks at once if the last claim of the same types took jobs with lanes."""

from __future__ import annotations

from holdfast.engine.operations import ClaimJobs, TypeTerms
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.claim import claim
from holdfast.stores.sql.plan import Statement


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
