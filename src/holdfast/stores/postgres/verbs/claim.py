"""Claim due jobs."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimedJobs, ClaimJobs
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, has_record, record
from holdfast.stores.postgres.verbs.claim_lanes import claim_with_lanes
from holdfast.stores.postgres.verbs.scan_starts import ScanStart
from holdfast.stores.sql.plan import Row, Statement

_CLAIM = SQL["claim"]
_CLAIM_FROM = SQL["claim_from"]
_CLAIMED_BEFORE = SQL["claimed_before"]
_LANES_PRESENT = SQL["lanes_present"]

_ID = Record.__struct_fields__.index("id")
_NEW = -6
"""The column that says whether no worker had claimed the job before; null if the claim did not ask for it."""


def claim(context: PlanContext, op: ClaimJobs) -> Plan[list[Record]]:
    terms = {terms.type: terms for terms in op.types}
    if not terms or op.limit + op.ahead < 1:
        return []
    if op.again:
        rows = yield Statement(_CLAIMED_BEFORE, {"types": list(terms), "token": op.token})
        if rows:
            return sorted(map(record, rows), key=_rank)
    parameters = {
        "now": context.clock,
        "types": list(terms),
        "leases": [each.lease for each in terms.values()],
        "limits": [each.max_attempts for each in terms.values()],
        "aheads": [each.ahead for each in terms.values()],
        "limit": op.limit,
        "ahead": op.ahead,
        "worker": op.worker,
        "token": op.token,
        "unless_lanes": True,
        "finds_new": op.finds_new,
    }
    if op.limit and context.scan_starts.took_lanes == parameters["types"]:
        return (yield from claim_with_lanes(context, op, parameters))
    if starts := context.scan_starts.of(terms):
        return (yield from _claim_from(starts, context, op, parameters))
    claimed = ClaimedJobs()
    while not claimed or len(claimed) < op.limit:
        limit = op.limit - len(claimed)
        rows = yield Statement(_CLAIM, parameters | {"limit": limit})
        if rows[0][-4]:
            rest = replace(op, limit=limit)
            more_jobs = yield from claim_with_lanes(context, rest, parameters)
            claimed.add(more_jobs)
            claimed.overlaps = more_jobs.overlaps
            return claimed
        more, several, spent, dead = _claimed(context, rows)
        # Not with the clock of a test: jobs that return to pending have the time of the start, which would hide them.
        if context.clock is None:
            context.scan_starts.scanned(terms, more, spent, dead)
        if claimed:
            claimed.add(more)
        else:
            claimed = more
        if not more or not several:
            # With several levels, other workers may have emptied one of them while another level has more jobs.
            break
    return claimed


def _claim_from(
    starts: list[ScanStart], context: PlanContext, op: ClaimJobs, parameters: dict[str, Any]
) -> Plan[list[Record]]:
    """Claim jobs of the index from where the last claims ended."""
    present = {name: parameters[name] for name in ("types", "now")}
    ((with_lanes,),) = yield Statement(_LANES_PRESENT, present)
    if with_lanes:
        return (yield from claim_with_lanes(context, op, parameters))
    types, priorities, scheduled, seqs = (list(column) for column in zip(*starts, strict=True))
    parameters = parameters | {"scanned": types, "priorities": priorities, "scheduled": scheduled, "seqs": seqs}
    del parameters["unless_lanes"]
    claimed, *_ = _claimed(context, (yield Statement(_CLAIM_FROM, parameters)))
    context.scan_starts.advance(claimed)
    return claimed


def claim_again(context: PlanContext, op: ClaimJobs) -> Plan[list[Record]]:
    """Repeat a claim whose answer was lost: return the jobs that it claimed, or claim if it was not committed."""
    return (yield from claim(context, replace(op, again=True)))


def _claimed(context: PlanContext, rows: list[Row]) -> tuple[ClaimedJobs, bool, Micros, int]:
    """The claimed jobs in the order of claims; whether there are several levels; the duration; the number of dead rows.

    A level is a pair of type and priority. The statement returns one row even if no job is due.
    """
    *_, is_new, has_listeners, _, several, spent, dead = rows[0]
    claimed = ClaimedJobs([record(row) for row in rows if has_record(row)])
    if is_new is not None:
        claimed.new = {row[_ID] for row in rows if row[_NEW]}
    context.hints.recorded |= has_listeners and bool(claimed)
    if len(claimed) > 1:
        claimed.sort(key=_rank)
    return claimed, several, spent, dead


def _rank(job: Record) -> tuple[int, int, int]:
    return (-job.priority, job.scheduled_at, job.seq)
