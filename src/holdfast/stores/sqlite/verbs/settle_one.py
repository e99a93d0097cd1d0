"""Write one settlement whose claim is held, and what follows from it for other jobs."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.core import counters
from holdfast.core.clock import Micros
from holdfast.core.counters import Kind, settled_kind
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Status
from holdfast.engine.operations import WRITTEN, Settled, Start
from holdfast.errors import HoldfastError
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import attempts, blockers, start, steps

COMPLETED = SQL["settle_completed"]
COMPLETED_LANES = SQL["settle_completed_lanes"]
KEEP = SQL["settle_keep"]
_PENDING = SQL["settle_pending"]
_RELEASED = SQL["settle_released"]
_SUSPENDED = SQL["settle_suspended"]
_MISMATCHED = SQL["settle_mismatched"]
_ENDED = SQL["settle_ended"]


class ClaimedJob(NamedTuple):
    """The columns of `settle_claims`, in its order."""

    id: str
    seq: int
    status: str
    token: str | None
    type: str
    other_chain: str | None
    """The id of the chain, unless the job is its first one."""
    attempt: int
    worker: str | None
    started_at: Micros | None
    scheduled_at: Micros
    has_lanes: bool | None
    lane: str | None
    """The lane whose permit is in the row of the job."""
    ordered: bool | None
    """Whether this lane is an order."""
    may_be_awaited: bool | None
    """Whether any job has blockers."""
    listening: bool | None
    """Whether a listener is registered."""

    @property
    def chain_id(self) -> str:
        return self.id if self.other_chain is None else self.other_chain


def settle_one(context: PlanContext, job: ClaimedJob, settlement: Settlement) -> Plan[Settled]:
    if settlement.starts or settlement.continuation is not None:
        refused = yield from _create_side_chains(context, settlement)
        if refused is not None:
            return Settled(refused=refused)
    match settlement.status:
        case Status.COMPLETED:
            return (yield from _complete(context, job, settlement))
        case Status.PENDING:
            return (yield from _return_to_pending(context, job, settlement))
        case _:
            return (yield from _end(context, job, settlement))


def _completion(context: PlanContext, job: ClaimedJob, settlement: Settlement) -> Row:
    """The parameters of `settle_completed`, in order."""
    now = context.now
    ended = now if settlement.continuation is None else None
    return settlement.output, job.started_at, now, ended, job.seq, job.token


def _create_side_chains(context: PlanContext, settlement: Settlement) -> Plan[HoldfastError | None]:
    """Create the side chains. Returns why the store refuses one of them, or the continuation."""
    refused = None
    if settlement.starts:
        refused = yield from start.check_starts(context, settlement.starts, settlement.expected)
    if refused is None and settlement.continuation is not None:
        refused = yield from start.check_continuation(settlement.continuation, settlement.starts, settlement.expected)
    if refused is None and settlement.starts:
        yield from start.start(context, Start(settlement.starts))
    return refused


def _complete(context: PlanContext, job: ClaimedJob, settlement: Settlement) -> Plan[Settled]:
    _count(context, job, "completed", settlement)
    if settlement.continuation is not None:
        yield from start.add(context, settlement.continuation)
    if settlement.keep is not None:
        yield Many(KEEP, [(settlement.keep, job.seq, job.token)])
    yield Statement(COMPLETED_LANES if job.has_lanes else COMPLETED, _completion(context, job, settlement))
    context.record("completed", job.id, job.chain_id, job.type, job.attempt, job.worker)
    if settlement.continuation is not None:
        return WRITTEN
    context.hints.finished.add(job.chain_id)
    # Not by `may_be_awaited`: a chain that this settlement has started may wait for this one.
    unblocked = yield from blockers.completed(context, [job.chain_id])
    return Settled(unblocked=tuple(unblocked.get(job.chain_id, ())))


def _return_to_pending(context: PlanContext, job: ClaimedJob, settlement: Settlement) -> Plan[Settled]:
    if kind := settled_kind(settlement.status, settlement.outcome):
        _count(context, job, kind, settlement)
    event, attempt, error = settlement.outcome, job.attempt, settlement.error
    changes: dict[str, Any]
    match settlement.outcome:
        case "released":
            attempt, due = attempt - 1, job.scheduled_at
            statement, changes = _RELEASED, {"begun": settlement.begun}
        case "suspended":
            due = yield from steps.suspend(context, job.id, job.chain_id, settlement.claim.token, settlement.waits)
            attempt -= 1
            statement, changes = _SUSPENDED, {"scheduled_at": due}
        case "mismatched":
            attempt, due = attempt - 1, context.now + settlement.delay
            statement, changes = _MISMATCHED, {"error": error, "scheduled_at": due, "now": context.now}
        case outcome:
            due = max(context.now, context.now + settlement.delay if settlement.at is None else settlement.at)
            statement, changes = _PENDING, {"error": error, "scheduled_at": due}
            event = "rescheduled" if outcome == "rescheduled" else "retrying"
    yield _past(context, job, settlement, due)
    job_parameters = {"seq": job.seq, "token": job.token, "keep": settlement.keep, "started_at": job.started_at}
    yield Statement(statement, job_parameters | changes)
    context.hints.due.add(job.type)
    context.record(event, job.id, job.chain_id, job.type, attempt)
    return WRITTEN


def _end(context: PlanContext, job: ClaimedJob, settlement: Settlement) -> Plan[Settled]:
    """Write a failure or a cancellation."""
    if kind := settled_kind(settlement.status, settlement.outcome):
        _count(context, job, kind, settlement)
    yield _past(context, job, settlement, None)
    status, given_back = settlement.status.value, int(settlement.outcome == "mismatched")
    fingerprint = None if settlement.failure is None else settlement.failure.fingerprint
    yield Statement(_ENDED, {
        "seq": job.seq, "token": job.token, "keep": settlement.keep, "started_at": job.started_at, "status": status,
        "given_back": given_back, "error": settlement.error, "fingerprint": fingerprint, "now": context.now,
    })  # fmt: skip
    context.hints.finished.add(job.chain_id)
    context.record(status, job.id, job.chain_id, job.type, job.attempt - given_back)
    return Settled(unblocked=tuple((yield from blockers.broken(context, job.chain_id))))


def _count(context: PlanContext, job: ClaimedJob, kind: Kind, settlement: Settlement) -> None:
    timed = settlement.outcome != "mismatched"
    change = counters.ended(
        job.type, kind, context.now, scheduled_at=job.scheduled_at, started_at=job.started_at, timed=timed
    )
    context.count(change, job.id, settlement.failure)


def _past(context: PlanContext, job: ClaimedJob, settlement: Settlement, next_at: Micros | None) -> Statement:
    outcome, error = settlement.outcome, settlement.error
    return attempts.past_attempt(context, job.id, job.attempt, job.worker, job.started_at, outcome, error, next_at)
