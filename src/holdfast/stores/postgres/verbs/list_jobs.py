"""List jobs and chains that match a filter, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Filter, ListChains, Listing, ListJobs
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.sql.listing import (
    NEWEST,
    RECENT,
    all_conditions,
    below,
    by_status,
    filled,
    found_by_index,
    may_be_recent,
    narrowed,
    needs_scan,
    statuses,
)
from holdfast.stores.sql.plan import Row, Statement

_JOBS = SQL["list_jobs"]
_CHAINS = SQL["list_chains"]
_CHAINS_WITH_LAST = SQL["list_chains_with_last"]
_CHAINS_BY_LAST = SQL["list_chains_by_last"]
_CHAINS_BY_NEWEST = SQL["list_chains_by_newest"]
_FLOOR = SQL["list_floor"]
_SEQS = SQL["seqs"]
_SEQS_BY_STATUS = SQL["seqs_by_status"]
_SEQS_BY_TYPE = SQL["seqs_by_type"]
_SEQS_RECENT = SQL["seqs_recent"]

_OF_CHAIN = (
    " and (job.id = :chain_id::text and job.chain_index = 0 or job.chain_id = :chain_id::text and job.chain_index > 0)"
)
_KEPT = """ and (job.expires_at is null or job.finished_at + job.keep > holdfast.clock(:now::bigint)) and not exists (
    select 1 from holdfast.job done where done.chain_id = job.id and done.chain_index > 0
       and done.expires_at is not null
       and done.finished_at + done.keep <= holdfast.clock(:now::bigint))"""

_BEFORE = ":before::bigint"
_PLACE = "select 0::bigint as seq /* seqs */"
_OF_STATUS = "/* of status */"
_BY_TYPE_AND_SEQ = (Status.BLOCKED, Status.FAILED, Status.CANCELLED)
"""The statuses whose index has the type and the seq."""


class _Dialect:
    """The conditions of PostgreSQL."""

    now = "holdfast.clock(:now::bigint)"

    def integer(self, name: str) -> str:
        return f":{name}::bigint"

    def text(self, name: str) -> str:
        return f":{name}::text"

    def one_of(self, column: str, name: str) -> str:
        return f"{column} = any(:{name}::text[])"

    def names(self, values: Sequence[str]) -> list[str]:
        return list(values)

    def error_text(self, row: str) -> str:
        error = f"holdfast.as_json({row}.error)"
        # In the collation "C", `lower` changes ASCII letters only, as in the other databases.
        return f"""lower(({error} ->> 0 || coalesce(': ' || nullif({error} ->> 1, ''), '')) collate "C")"""

    def contains(self, text: str, part: str) -> str:
        return f"strpos({text}, {part}) > 0"


_DIALECT = _Dialect()


def list_jobs(context: PlanContext, op: ListJobs) -> Plan[Listing[Record]]:
    floor = yield from _floor(context, op)
    jobs: list[Record] = []
    for status in statuses(op.filter):
        conditions, parameters = all_conditions(_DIALECT, op.filter, status, first="job", last="job")
        if op.filter.chain_id is not None:
            conditions += _OF_CHAIN
        if status is Status.PENDING and may_be_recent(op.filter, status, floor):
            given = {"before": op.before, "recent": RECENT, "count": op.limit + 1}
            recent = yield _page(context, op, _of(_JOBS, _SEQS_RECENT), conditions, parameters | given, floor)
            if len(recent) > op.limit:
                jobs += map(record, recent)
                continue
        statement = _of(_JOBS, _seqs(op.filter, status))
        given = {"count": op.limit + 1}
        jobs += map(record, (yield _page(context, op, statement, conditions, parameters | given, floor)))
    jobs.sort(key=lambda job: -job.seq)
    return Listing.cut(jobs, [job.seq for job in jobs], op.limit, floor)


def list_chains(context: PlanContext, op: ListChains) -> Plan[Listing[ChainRecord]]:
    floor = yield from _floor(context, op)
    found: dict[int, str] = {}
    for status in statuses(op.filter):
        conditions, parameters = all_conditions(_DIALECT, op.filter, status, first="job", last="last")
        if op.filter.chain_id is not None:
            conditions += " and job.id = :chain_id::text"
        if op.filter.kept:
            conditions += _KEPT
        if may_be_recent(op.filter, status, floor):
            rows = yield from _recent_chains(context, op, status, conditions, parameters)
            if len(rows) > op.limit:
                found |= dict(rows)
                continue
        if not by_status(op.filter, status):
            statement = _CHAINS_WITH_LAST if _needs_last(op.filter, status) else _CHAINS
        else:
            statement = _CHAINS_BY_LAST
            conditions += "" if floor is None else " and last.seq >= :floor::bigint"
        found |= dict((yield _page(context, op, statement, conditions, parameters, floor)))
    seqs = sorted(found, reverse=True)
    listing = Listing.cut([found[seq] for seq in seqs], seqs, op.limit, floor)
    # A chain may have been deleted since it was found.
    stored = (yield from chains.read(listing)) if listing else {}
    answer = Listing(stored[chain_id] for chain_id in listing if chain_id in stored)
    answer.next_before = listing.next_before
    return answer


def _recent_chains(
    context: PlanContext, op: ListChains, status: Status | None, conditions: str, parameters: dict[str, Any]
) -> Plan[list[Row]]:
    """The chains of a status with many jobs, if there are enough among the recent ones."""
    rows: list[Row] = []
    if status is Status.PENDING:
        # No index orders pending jobs by seq. So the recent first jobs of chains are read before all pending jobs.
        floor = yield from _lowest(context, op, _SEQS, " and job.chain_index = 0", {}, RECENT)
        rows = yield _page(context, op, _CHAINS_WITH_LAST, conditions, parameters, floor)
    if len(rows) <= op.limit:
        by_index, values = found_by_index(_DIALECT, op.filter, status, first="job", last="job")
        seqs = narrowed(_seqs(op.filter, status), by_index + below(op, _BEFORE, "job"))
        newest = _of(_CHAINS_BY_NEWEST, seqs)
        rows = yield _page(context, op, newest, conditions, parameters | values | {"count": NEWEST}, None)
    return rows


def _seqs(wanted: Filter, status: Status | None) -> str:
    """The statement that finds the newest jobs of a status."""
    if not by_status(wanted, status) or wanted.fingerprint is not None:
        return _SEQS
    if status is not None and status in _BY_TYPE_AND_SEQ and not wanted.types:
        return filled(_SEQS_BY_TYPE, _OF_STATUS, f" and job.status = '{status.value}'")
    return _SEQS_BY_STATUS


def _of(statement: str, seqs: str) -> str:
    """A statement about the jobs that another one finds."""
    return filled(statement, _PLACE, seqs)


def _needs_last(wanted: Filter, status: Status | None) -> bool:
    """Whether conditions refer to the last job of a chain."""
    return bool(status or wanted.types or wanted.error or wanted.worker) or wanted.finished_since is not None


def _page(
    context: PlanContext,
    op: ListJobs | ListChains,
    statement: str,
    conditions: str,
    parameters: dict[str, Any],
    floor: int | None,
) -> Statement:
    """The rows of one status, one more than the limit."""
    places = [
        ("before", op.before, " and job.seq < :before::bigint"),
        ("floor", floor, " and job.seq >= :floor::bigint"),
        ("chain_id", op.filter.chain_id, ""),
    ]
    given = [place for place in places if place[1] is not None]
    conditions += "".join(text for _, _, text in given)
    parameters = parameters | {name: value for name, value, _ in given} | {"limit": op.limit + 1}
    if ":now" in conditions:
        parameters["now"] = context.clock
    return Statement(narrowed(statement, conditions), parameters)


def _floor(context: PlanContext, op: ListJobs | ListChains) -> Plan[int | None]:
    """The seq of the oldest row to read; None if the list reads to the end."""
    floors: list[int] = []
    for status in statuses(op.filter):
        if not needs_scan(op.filter, status):
            continue
        conditions, parameters = found_by_index(_DIALECT, op.filter, status, first="job", last="job")
        if isinstance(op, ListChains) and not by_status(op.filter, status):
            conditions += " and job.chain_index = 0"
        floor = yield from _lowest(context, op, _seqs(op.filter, status), conditions, parameters, op.scan)
        floors += [] if floor is None else [floor]
    return max(floors, default=None)


def _lowest(
    context: PlanContext,
    op: ListJobs | ListChains,
    seqs: str,
    conditions: str,
    parameters: dict[str, Any],
    count: int,
) -> Plan[int | None]:
    """The lowest seq of the newest jobs; None if there are fewer than `count`.

    The result is below `before`, also for chains that are found by their last job. Otherwise the list would not end.
    """
    if op.before is not None:
        conditions += f" and job.seq < {_BEFORE}"
        parameters = parameters | {"before": op.before}
    if ":now" in conditions:
        parameters = parameters | {"now": context.clock}
    statement = _of(_FLOOR, narrowed(seqs, conditions))
    rows = yield Statement(statement, parameters | {"count": count, "offset": count - 1})
    return rows[0][0] if rows else None
