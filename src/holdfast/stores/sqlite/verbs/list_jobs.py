"""List jobs and chains, newest first, narrowed by a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import ListChains, Listing, ListJobs
from holdfast.stores.sql.listing import (
    NEWEST,
    RECENT,
    all_conditions,
    below,
    by_status,
    found_by_index,
    may_be_recent,
    narrowed,
    needs_scan,
    statuses,
)
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs import chains

_JOBS = SQL["list_jobs"]
_JOBS_BY_STATUS = SQL["list_jobs_by_status"]
_JOBS_RECENT = SQL["list_jobs_recent"]
_CHAINS = SQL["list_chains"]
_CHAINS_BY_LAST = SQL["list_chains_by_last"]
_CHAINS_BY_NEWEST = SQL["list_chains_by_newest"]
_FLOOR = SQL["list_floor"]
_FLOOR_BY_STATUS = SQL["list_floor_by_status"]
_FLOOR_BY_LAST = SQL["list_floor_by_last"]

_OF_CHAIN = " and (job.id = :chain_id and job.chain_index = 0 or job.chain_id = :chain_id and job.chain_index > 0)"
_KEPT = " and (last.expires_at is null or last.finished_at + last.keep > :now)"

_RECENT = f" and job.seq > coalesce(:before, (select max(seq) + 1 from holdfast_job)) - {RECENT}"  # noqa: S608 - a number


class _Dialect:
    """The conditions of SQLite."""

    now = ":now"

    def integer(self, name: str) -> str:
        return f":{name}"

    text = integer

    def one_of(self, column: str, name: str) -> str:
        return f"{column} in (select value from json_each(:{name}))"  # noqa: S608 - the name of a column

    def names(self, values: Sequence[str]) -> str:
        return as_json(values)

    def error_text(self, row: str) -> str:
        error = f"cast({row}.error as text)"
        message = f"json_extract({error}, '$[1]')"
        line = f"json_extract({error}, '$[0]') || case {message} when '' then '' else ': ' || {message} end"
        # A case instead of `and`: SQLite may evaluate the operands of `and` in any order.
        return f"case when json_valid({error}) then lower({line}) end"

    def contains(self, text: str, part: str) -> str:
        return f"instr({text}, {part}) > 0"


_DIALECT = _Dialect()


def list_jobs(context: PlanContext, operation: ListJobs) -> Plan[Listing[Record]]:
    floor = yield from _floor(context, operation)
    jobs: list[Record] = []
    for status in statuses(operation.filter):
        conditions, parameters = all_conditions(_DIALECT, operation.filter, status, first="job", last="job")
        if operation.filter.chain_id is not None:
            conditions += _OF_CHAIN
        if may_be_recent(operation.filter, status, floor):
            recent = yield _page(context, operation, _JOBS_RECENT, conditions + _RECENT, parameters, floor)
            if len(recent) > operation.limit:
                jobs += map(record, recent)
                continue
        statement = _JOBS_BY_STATUS if by_status(operation.filter, status) else _JOBS
        jobs += map(record, (yield _page(context, operation, statement, conditions, parameters, floor)))
    jobs.sort(key=lambda job: -job.seq)
    return Listing.cut(jobs, [job.seq for job in jobs], operation.limit, floor)


def list_chains(context: PlanContext, operation: ListChains) -> Plan[Listing[ChainRecord]]:
    floor = yield from _floor(context, operation)
    found: dict[int, str] = {}
    for status in statuses(operation.filter):
        conditions, parameters = all_conditions(_DIALECT, operation.filter, status, first="job", last="last")
        if operation.filter.chain_id is not None:
            conditions += " and job.id = :chain_id"
        if operation.filter.kept:
            conditions += _KEPT
        if may_be_recent(operation.filter, status, floor):
            recent = yield _page(context, operation, _CHAINS, conditions + _RECENT, parameters, floor)
            if len(recent) <= operation.limit:
                by_index, _ = found_by_index(_DIALECT, operation.filter, status, first="job", last="last")
                newest = narrowed(_CHAINS_BY_NEWEST, by_index + below(operation, ":before"))
                recent = yield _page(context, operation, newest, conditions, parameters | {"newest": NEWEST}, floor)
            if len(recent) > operation.limit:
                found |= dict(recent)
                continue
        by_last = by_status(operation.filter, status)
        statement = _CHAINS_BY_LAST if by_last else _CHAINS
        conditions += " and last.seq >= :floor" if by_last and floor is not None else ""
        found |= dict((yield _page(context, operation, statement, conditions, parameters, floor)))
    seqs = sorted(found, reverse=True)
    listing = Listing.cut([found[seq] for seq in seqs], seqs, operation.limit, floor)
    rows = Listing((yield from chains.need(listing)) if listing else [])
    rows.next_before = listing.next_before
    return rows


def _page(
    context: PlanContext,
    operation: ListJobs | ListChains,
    statement: str,
    conditions: str,
    parameters: dict[str, Any],
    floor: int | None,
) -> Statement:
    """The rows of one status, one more than the limit."""
    place = {"before": operation.before, "floor": floor, "limit": operation.limit + 1}
    rest = {"now": context.now, "chain_id": operation.filter.chain_id}
    if operation.before is not None:
        conditions += " and job.seq < :before"
    if floor is not None:
        conditions += " and job.seq >= :floor"
    return Statement(narrowed(statement, conditions), parameters | place | rest)


def _floor(context: PlanContext, operation: ListJobs | ListChains) -> Plan[int | None]:
    """The seq of the oldest row to read; None if the list reads to the end."""
    is_chains = isinstance(operation, ListChains)
    floors: list[int] = []
    for status in statuses(operation.filter):
        if not needs_scan(operation.filter, status):
            continue
        by_last = is_chains and by_status(operation.filter, status)
        last = "last" if by_last else "job"
        conditions, parameters = found_by_index(_DIALECT, operation.filter, status, first="job", last=last)
        if is_chains and not by_last:
            conditions += " and job.chain_index = 0"
        if operation.before is not None:
            # Also for chains that are found by their last job: the floor must be lower, or the list would not end.
            conditions += f" and {last}.seq < :before"
        statement = _FLOOR_BY_LAST if by_last else _FLOOR_BY_STATUS if by_status(operation.filter, status) else _FLOOR
        parameters |= {"before": operation.before, "offset": operation.scan - 1, "now": context.now}
        floors += [seq for (seq,) in (yield Statement(narrowed(statement, conditions), parameters))]
    return max(floors, default=None)
