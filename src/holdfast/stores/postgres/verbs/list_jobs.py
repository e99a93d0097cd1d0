"""List jobs and chains that match a filter, newest first.

Conditions are inserted into the text of a statement. Values are always parameters.
"""

from __future__ import annotations

from typing import Any

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Filter, ListChains, ListJobs
from holdfast.stores.postgres.execution import Execution
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.sql.failing import failing, narrowed_statuses
from holdfast.stores.sql.plan import Statement

_JOBS = SQL["list_jobs"]
_CHAINS = SQL["list_chains"]
_CHAINS_BY_LAST = SQL["list_chains_by_last"]

_OF_CHAIN = (
    "(job.id = :chain_id::text and job.chain_index = 0 or job.chain_id = :chain_id::text and job.chain_index > 0)"
)
_LAST_STATUS = """coalesce((select last.status from holdfast.job last
    where last.chain_id = job.id and last.chain_index > 0 order by last.chain_index desc limit 1), job.status)"""

_KEPT = """(job.expires_at is null or job.finished_at + job.keep > holdfast.clock(:now::bigint)) and not exists (
    select 1 from holdfast.job done where done.chain_id = job.id and done.chain_index > 0
       and done.expires_at is not null
       and done.finished_at + done.keep <= holdfast.clock(:now::bigint))"""


def list_jobs(execution: Execution, op: ListJobs) -> Plan[list[Record]]:
    jobs: list[Record] = []
    for status in _statuses(op.filter):
        where, parameters = _narrowed(execution, op.filter, op.before, scheduled="job")
        if status is not None:
            where += f" and job.status = '{status.value}'"
        where += failing(op.filter, status, "job")
        if op.filter.chain_id is not None:
            where += f" and {_OF_CHAIN}"
        jobs += map(record, (yield Statement(_with(_JOBS, where), parameters | {"limit": op.limit})))
    return sorted(jobs, key=lambda job: -job.seq)[: op.limit]


def list_chains(execution: Execution, op: ListChains) -> Plan[list[ChainRecord]]:
    found: dict[int, str] = {}
    for status in _statuses(op.filter):
        statement = _CHAINS
        where, parameters = _narrowed(execution, op.filter, op.before, scheduled="last")
        if op.filter.chain_id is not None:
            where += " and job.id = :chain_id::text"
        where += failing(op.filter, status, "last")
        if op.filter.kept:
            where += f" and {_KEPT}"
            parameters["now"] = execution.clock
        if status is Status.COMPLETED:
            where += f" and {_LAST_STATUS} = 'completed'"
        elif status is not None:
            statement = _CHAINS_BY_LAST
            where += f" and last.status = '{status.value}'"
        found |= dict((yield Statement(_with(statement, where), parameters | {"limit": op.limit})))
    ids = [found[seq] for seq in sorted(found, reverse=True)[: op.limit]]
    if not ids:
        return []
    # A chain may have been deleted since it was found.
    stored = yield from chains.read(ids)
    return [stored[chain_id] for chain_id in ids if chain_id in stored]


def _statuses(wanted: Filter) -> list[Status | None]:
    """The statuses to query, one query for each: with a constant status the planner can use a partial index."""
    statuses: list[Status | None] = list(dict.fromkeys(wanted.statuses)) or [None]
    if wanted.scheduled:
        return [Status.PENDING] if statuses == [None] or Status.PENDING in statuses else []
    return narrowed_statuses(wanted, statuses)


def _narrowed(
    execution: Execution, wanted: Filter, before: int | None, *, scheduled: str
) -> tuple[str, dict[str, Any]]:
    """The conditions on a job (for chains: on the first job), and their parameters."""
    conditions: list[tuple[str, Any, str]] = [
        ("before", before, "job.seq < :before::bigint"),
        ("types", list(wanted.types) or None, "job.type = any(:types::text[])"),
        ("chain_id", wanted.chain_id, "true"),
        ("key", wanted.key, "job.key = :key::text"),
        ("since", wanted.since, "job.created_at >= :since::bigint"),
        ("until", wanted.until, "job.created_at < :until::bigint"),
    ]
    given = [condition for condition in conditions if condition[1] is not None]
    where = "".join(f" and {text}" for _, _, text in given)
    parameters = {name: value for name, value, _ in given}
    if wanted.scheduled:
        where += f" and {scheduled}.scheduled_at > holdfast.clock(:now::bigint)"
        parameters["now"] = execution.clock
    return where, parameters


def _with(statement: str, where: str) -> str:
    before, marker, after = statement.partition("/* narrowed */")
    assert marker, "the statement has no place for conditions"
    return before + where + after
