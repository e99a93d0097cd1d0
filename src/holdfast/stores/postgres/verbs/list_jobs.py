"""List jobs and chains that match a filter, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Filter, ListChains, Listing, ListJobs
from holdfast.stores.postgres.execution import Execution
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.sql.listing import (
    NEWEST,
    all_conditions,
    below,
    by_status,
    found_by_index,
    may_be_recent,
    narrowed,
    needs_scan,
    statuses,
)
from holdfast.stores.sql.plan import Statement

_JOBS = SQL["list_jobs"]
_CHAINS = SQL["list_chains"]
_CHAINS_WITH_LAST = SQL["list_chains_with_last"]
_CHAINS_BY_LAST = SQL["list_chains_by_last"]
_CHAINS_BY_NEWEST = SQL["list_chains_by_newest"]
_FLOOR = SQL["list_floor"]
_FLOOR_BY_LAST = SQL["list_floor_by_last"]

_OF_CHAIN = (
    " and (job.id = :chain_id::text and job.chain_index = 0 or job.chain_id = :chain_id::text and job.chain_index > 0)"
)
_KEPT = """ and (job.expires_at is null or job.finished_at + job.keep > holdfast.clock(:now::bigint)) and not exists (
    select 1 from holdfast.job done where done.chain_id = job.id and done.chain_index > 0
       and done.expires_at is not null
       and done.finished_at + done.keep <= holdfast.clock(:now::bigint))"""

_BEFORE = ":before::bigint"


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
        # In the collation "C", `lower` changes ASCII letters only. The other databases cannot change more.
        return f"""lower(({error} ->> 0 || coalesce(': ' || nullif({error} ->> 1, ''), '')) collate "C")"""

    def contains(self, text: str, part: str) -> str:
        return f"strpos({text}, {part}) > 0"


_DIALECT = _Dialect()


def list_jobs(execution: Execution, op: ListJobs) -> Plan[Listing[Record]]:
    floor = yield from _floor(op)
    jobs: list[Record] = []
    for status in statuses(op.filter):
        conditions, parameters = all_conditions(_DIALECT, op.filter, status, first="job", last="job")
        if op.filter.chain_id is not None:
            conditions += _OF_CHAIN
        jobs += map(record, (yield _page(execution, op, _JOBS, conditions, parameters, floor)))
    jobs.sort(key=lambda job: -job.seq)
    return Listing.cut(jobs, [job.seq for job in jobs], op.limit, floor)


def list_chains(execution: Execution, op: ListChains) -> Plan[Listing[ChainRecord]]:
    floor = yield from _floor(op)
    found: dict[int, str] = {}
    for status in statuses(op.filter):
        conditions, parameters = all_conditions(_DIALECT, op.filter, status, first="job", last="last")
        if op.filter.chain_id is not None:
            conditions += " and job.id = :chain_id::text"
        if op.filter.kept:
            conditions += _KEPT
        if may_be_recent(op.filter, status, floor):
            by_index, _ = found_by_index(_DIALECT, op.filter, status, first="job", last="last")
            newest = narrowed(_CHAINS_BY_NEWEST, by_index + below(op, _BEFORE))
            rows = yield _page(execution, op, newest, conditions, parameters | {"newest": NEWEST}, floor)
            if len(rows) > op.limit:
                found |= dict(rows)
                continue
        statement = _CHAINS_BY_LAST if by_status(op.filter, status) else _CHAINS
        if statement is _CHAINS and _needs_last(op.filter, status):
            statement = _CHAINS_WITH_LAST
        if statement is _CHAINS_BY_LAST and floor is not None:
            conditions += " and last.seq >= :floor::bigint"
        found |= dict((yield _page(execution, op, statement, conditions, parameters, floor)))
    seqs = sorted(found, reverse=True)
    listing = Listing.cut([found[seq] for seq in seqs], seqs, op.limit, floor)
    # A chain may have been deleted since it was found.
    stored = (yield from chains.read(listing)) if listing else {}
    answer = Listing(stored[chain_id] for chain_id in listing if chain_id in stored)
    answer.next_before = listing.next_before
    return answer


def _needs_last(wanted: Filter, status: Status | None) -> bool:
    """Whether conditions refer to the last job of a chain."""
    return bool(status or wanted.types or wanted.error or wanted.worker) or wanted.finished_since is not None


def _page(
    execution: Execution,
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
        parameters["now"] = execution.clock
    return Statement(narrowed(statement, conditions), parameters)


def _floor(op: ListJobs | ListChains) -> Plan[int | None]:
    """The seq of the oldest row to read; None if the list reads to the end."""
    is_chains = isinstance(op, ListChains)
    floors: list[int] = []
    for status in statuses(op.filter):
        if not needs_scan(op.filter, status):
            continue
        by_last = is_chains and by_status(op.filter, status)
        last = "last" if by_last else "job"
        conditions, parameters = found_by_index(_DIALECT, op.filter, status, first="job", last=last)
        if is_chains and not by_last:
            conditions += " and job.chain_index = 0"
        if op.before is not None:
            # Also for chains that are found by their last job: the floor must be lower, or the list would not end.
            conditions += f" and {last}.seq < {_BEFORE}"
            parameters["before"] = op.before
        statement = narrowed(_FLOOR_BY_LAST if by_last else _FLOOR, conditions)
        floors += [seq for (seq,) in (yield Statement(statement, parameters | {"offset": op.scan - 1}))]
    return max(floors, default=None)
