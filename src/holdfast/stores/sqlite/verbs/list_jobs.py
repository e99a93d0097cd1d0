"""List jobs and chains, newest first, narrowed by a filter.

Conditions are put into the text of a statement, values never: they are parameters.
"""

from __future__ import annotations

from typing import Any

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Filter, ListChains, ListJobs
from holdfast.stores.sql.failing import failing, narrowed_statuses
from holdfast.stores.sql.plan import Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs import chains

_JOBS = SQL["list_jobs"]
_JOBS_BY_STATUS = SQL["list_jobs_by_status"]
_CHAINS = SQL["list_chains"]
_CHAINS_BY_LAST = SQL["list_chains_by_last"]

_OF_CHAIN = "(job.id = :chain_id and job.chain_index = 0 or job.chain_id = :chain_id and job.chain_index > 0)"
_KEPT = "(last.expires_at is null or last.expires_at > :now)"


def list_jobs(turn: Turn, op: ListJobs) -> Plan[list[Record]]:
    jobs: list[Record] = []
    for status in _statuses(op.filter):
        where, parameters = _narrowed(op.filter, op.before)
        statement = _JOBS
        if status is not None:
            where += f" and job.status = '{status.value}'"
            statement = _JOBS if status is Status.COMPLETED else _JOBS_BY_STATUS
        if op.filter.scheduled:
            where += " and job.scheduled_at > :now"
        where += failing(op.filter, status, "job")
        if op.filter.chain_id is not None:
            where += f" and {_OF_CHAIN}"
        parameters |= {"limit": op.limit, "now": turn.now, "chain_id": op.filter.chain_id}
        jobs += map(record, (yield Statement(_with(statement, where), parameters)))
    return sorted(jobs, key=lambda job: -job.seq)[: op.limit]


def list_chains(turn: Turn, op: ListChains) -> Plan[list[ChainRecord]]:
    found: dict[int, str] = {}
    for status in _statuses(op.filter):
        statement = _CHAINS
        where, parameters = _narrowed(op.filter, op.before)
        if op.filter.chain_id is not None:
            where += " and job.id = :chain_id"
        if status is not None:
            where += f" and last.status = '{status.value}'"
            statement = _CHAINS if status is Status.COMPLETED else _CHAINS_BY_LAST
        where += failing(op.filter, status, "last")
        if op.filter.kept:
            where += f" and {_KEPT}"
        if op.filter.scheduled:
            where += " and last.scheduled_at > :now"
        parameters |= {"limit": op.limit, "now": turn.now, "chain_id": op.filter.chain_id}
        found |= dict((yield Statement(_with(statement, where), parameters)))
    ids = [found[seq] for seq in sorted(found, reverse=True)[: op.limit]]
    return (yield from chains.need(ids)) if ids else []


def _statuses(wanted: Filter) -> list[Status | None]:
    """One query each: only a status that is written into the statement lets SQLite use a partial index."""
    statuses: list[Status | None] = list(dict.fromkeys(wanted.statuses)) or [None]
    if wanted.scheduled:
        return [Status.PENDING] if statuses == [None] or Status.PENDING in statuses else []
    return narrowed_statuses(wanted, statuses)


def _narrowed(wanted: Filter, before: int | None) -> tuple[str, dict[str, Any]]:
    """The conditions on a job, which for chains is the first one, and their parameters."""
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
    return statement.replace("/* narrowed */", where)
