"""List jobs and chains, newest first, narrowed by a filter.

Conditions become part of the statement text. Values are always parameters.
"""

from __future__ import annotations

from typing import Any

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Filter, ListChains, ListJobs
from holdfast.stores.sql.failing import failing, narrowed_statuses
from holdfast.stores.sql.plan import Execution, Plan, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs import chains

_JOBS = SQL["list_jobs"]
_JOBS_BY_STATUS = SQL["list_jobs_by_status"]
_CHAINS = SQL["list_chains"]
_CHAINS_BY_LAST = SQL["list_chains_by_last"]

_OF_CHAIN = "(job.id = :chain_id and job.chain_index = 0 or job.chain_id = :chain_id and job.chain_index > 0)"
_KEPT = "(last.expires_at is null or last.finished_at + last.keep > :now)"


def list_jobs(execution: Execution, operation: ListJobs) -> Plan[list[Record]]:
    jobs: list[Record] = []
    for status in _statuses(operation.filter):
        where, parameters = _narrowed(operation.filter, operation.before)
        statement = _JOBS
        if status is not None:
            where += f" and job.status = '{status.value}'"
            statement = _JOBS if status is Status.COMPLETED else _JOBS_BY_STATUS
        if operation.filter.scheduled:
            where += " and job.scheduled_at > :now"
        where += failing(operation.filter, status, "job")
        if operation.filter.chain_id is not None:
            where += f" and {_OF_CHAIN}"
        parameters |= {"limit": operation.limit, "now": execution.now, "chain_id": operation.filter.chain_id}
        jobs += map(record, (yield Statement(_with(statement, where), parameters)))
    return sorted(jobs, key=lambda job: -job.seq)[: operation.limit]


def list_chains(execution: Execution, operation: ListChains) -> Plan[list[ChainRecord]]:
    found: dict[int, str] = {}
    for status in _statuses(operation.filter):
        statement = _CHAINS
        where, parameters = _narrowed(operation.filter, operation.before)
        if operation.filter.chain_id is not None:
            where += " and job.id = :chain_id"
        if status is not None:
            where += f" and last.status = '{status.value}'"
            statement = _CHAINS if status is Status.COMPLETED else _CHAINS_BY_LAST
        where += failing(operation.filter, status, "last")
        if operation.filter.kept:
            where += f" and {_KEPT}"
        if operation.filter.scheduled:
            where += " and last.scheduled_at > :now"
        parameters |= {"limit": operation.limit, "now": execution.now, "chain_id": operation.filter.chain_id}
        found |= dict((yield Statement(_with(statement, where), parameters)))
    ids = [found[seq] for seq in sorted(found, reverse=True)[: operation.limit]]
    return (yield from chains.need(ids)) if ids else []


def _statuses(wanted: Filter) -> list[Status | None]:
    """The statuses to query, one query each. SQLite uses a partial index only for a status written in the statement."""
    statuses: list[Status | None] = list(dict.fromkeys(wanted.statuses)) or [None]
    if wanted.scheduled:
        return [Status.PENDING] if statuses == [None] or Status.PENDING in statuses else []
    return narrowed_statuses(wanted, statuses)


def _narrowed(wanted: Filter, before: int | None) -> tuple[str, dict[str, Any]]:
    """The conditions and their parameters. For a list of chains, `job` is the first job of the chain."""
    conditions = [
        ("before", before, "job.seq < :before"),
        ("types", as_json(wanted.types) if wanted.types else None, "job.type in (select value from json_each(:types))"),
        ("key", wanted.key, "job.key = :key"),
        ("since", wanted.since, "job.created_at >= :since"),
        ("until", wanted.until, "job.created_at < :until"),
    ]
    given = [condition for condition in conditions if condition[1] is not None]
    return "".join(f" and {text}" for _, _, text in given), {name: value for name, value, _ in given}


def _with(statement: str, where: str) -> str:
    before, placeholder, after = statement.partition("/* narrowed */")
    assert placeholder, "a list statement has a place for the conditions"
    return before + where + after
