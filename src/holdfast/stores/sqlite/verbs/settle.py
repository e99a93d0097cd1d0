"""Settle: write the outcomes of attempts. Each write requires that the claim is still held."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core import counters
from holdfast.core.clock import Micros
from holdfast.core.counters import CounterChange, Kind, settled_kind, settled_together
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.lost_claims import lost_reason
from holdfast.core.record import Status
from holdfast.engine.operations import Settle, Settled, Start
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs import attempts, blockers, insert, start, steps
from holdfast.stores.sqlite.verbs.counters import append

_CLAIMS = SQL["settle_claims"]
_COMPLETED = SQL["settle_completed"]
_COMPLETED_LANES = SQL["settle_completed_lanes"]
_LANES_FREED = SQL["lanes_freed"]
_ORDERS_LEFT = SQL["orders_left"]
_KEEP = SQL["settle_keep"]
_PENDING = SQL["settle_pending"]
_RELEASED = SQL["settle_released"]
_SUSPENDED = SQL["settle_suspended"]
_MISMATCHED = SQL["settle_mismatched"]
_ENDED = SQL["settle_ended"]

_WRITTEN = Settled()


class _Job(NamedTuple):
    """The columns of `settle_claims`, in its order."""

    id: str
    seq: int
    status: str
    token: str | None
    type: str
    chain_id: str
    attempt: int
    worker: str | None
    started_at: Micros | None
    scheduled_at: Micros
    awaited: bool
    has_lanes: bool
    lane: str | None
    """The lane that it holds by its row alone."""
    ordered: bool
    """Whether this lane is an order."""


class _Completions:
    """Completions that change no other job. Several hundred are written with two statements."""

    def __init__(self) -> None:
        self._jobs: list[Row] = []
        self._kept: list[Row] = []
        self._counted: list[_Job] = []
        self._continuations: list[NewJob] = []
        self._with_triggers = False

    def add(self, context: PlanContext, job: _Job, settlement: Settlement) -> None:
        next_job = settlement.continuation
        self._counted.append(job)
        if next_job is None:
            context.hints.finished.add(job.chain_id)
        else:
            self._continuations.append(next_job)
        # The triggers decide whether a chain that goes on keeps its order.
        self._with_triggers |= job.has_lanes and (job.lane is None or (job.ordered and next_job is not None))
        if settlement.keep is not None:
            self._kept.append((settlement.keep, job.seq, job.token))
        self._jobs.append(_completion(context, job, settlement))

    def flush(self, context: PlanContext) -> Plan[None]:
        if self._continuations:
            rows = [insert.row(context, job) for job in self._continuations]
            yield from insert.add_plain(context, self._continuations, rows)
        if self._kept:
            yield Many(_KEEP, self._kept)
        if self._jobs:
            yield Many(_COMPLETED_LANES if self._with_triggers else _COMPLETED, self._jobs)
            if not self._with_triggers and (lanes := [job.lane for job in self._counted if job.lane is not None]):
                yield Statement(_LANES_FREED, {"lanes": as_json(lanes)})
                if chains := [job.chain_id for job in self._counted if job.ordered]:
                    yield Statement(_ORDERS_LEFT, {"chains": as_json(chains)})
            # Written here and not with the other changes of the operation: this is part of every settlement.
            yield append(self._changes(context.now))
        self._jobs, self._kept, self._counted, self._continuations = [], [], [], []
        self._with_triggers = False

    def _changes(self, now: Micros) -> list[CounterChange]:
        jobs = self._counted
        types = {job.type for job in jobs}
        by_type = {types.pop(): jobs} if len(types) == 1 else {t: [job for job in jobs if job.type == t] for t in types}
        return [
            settled_together(type, "completed", now, [(job.scheduled_at, job.started_at or now) for job in same])
            for type, same in by_type.items()
        ]


def settle(context: PlanContext, operation: Settle) -> Plan[list[Settled]]:
    rows = yield Statement(_CLAIMS, {"ids": as_json([settlement.claim.job_id for settlement in operation.settlements])})
    jobs = {row[0]: _Job(*row) for row in rows}
    settled: dict[str, Status] = {}
    together = _Completions()
    may_be_awaited = False
    answers: list[Settled] = []
    for settlement in operation.settlements:
        job_id, token = settlement.claim
        job = jobs.get(job_id)
        if job is None or job.status != "running" or job.token != token or job_id in settled:
            answers.append(_refused(job, settlement, settled.get(job_id)))
            continue
        if settlement.ahead and job.started_at is not None:
            job = job._replace(started_at=job.started_at + settlement.ahead)
        if not may_be_awaited and _changes_no_other_job(context, job, settlement):
            together.add(context, job, settlement)
            answer = _WRITTEN
        else:
            yield from together.flush(context)
            answer = yield from _settle(context, job, settlement)
            # It may have created jobs that wait for the chains of the next settlements.
            next_job = settlement.continuation
            may_be_awaited |= bool(settlement.starts or (next_job is not None and next_job.after))
        if answer.refused is None:
            settled[job_id] = settlement.status
        answers.append(answer)
    yield from together.flush(context)
    return answers


def _refused(job: _Job | None, settlement: Settlement, settled: Status | None) -> Settled:
    """The result for a claim that is no longer held: lost, or written if the same settlement was stored before."""
    if job is None:
        return Settled(lost="not_found")
    status = settled or job.status
    if (job.token, status) == (settlement.claim.token, settlement.status):
        return _WRITTEN
    return Settled(lost=lost_reason(status, job.token, settlement.claim.token))


def _changes_no_other_job(context: PlanContext, job: _Job, settlement: Settlement) -> bool:
    next_job = settlement.continuation
    return (
        settlement.status is Status.COMPLETED
        and not settlement.starts
        and not context.listening
        and (not job.awaited if next_job is None else not next_job.after)
    )


def _settle(context: PlanContext, job: _Job, settlement: Settlement) -> Plan[Settled]:
    next_job = settlement.continuation
    refused = None
    if settlement.starts:
        refused = yield from start.check_starts(context, settlement.starts, settlement.expected)
    if refused is None and next_job is not None:
        refused = yield from start.check_continuation(next_job, settlement.starts, settlement.expected)
    if refused is not None:
        return Settled(refused=refused)
    if settlement.starts:
        yield from start.start(context, Start(settlement.starts))
    written = {"seq": job.seq, "token": job.token, "keep": settlement.keep, "started_at": job.started_at}
    if counted := settled_kind(settlement.status, settlement.outcome):
        _count(context, job, counted, settlement)
    match settlement.status:
        case Status.COMPLETED:
            if next_job is not None:
                yield from start.add(context, next_job)
            if settlement.keep is not None:
                yield Many(_KEEP, [(settlement.keep, job.seq, job.token)])
            statement = _COMPLETED_LANES if job.has_lanes else _COMPLETED
            yield Statement(statement, _completion(context, job, settlement))
            context.record("completed", job.id, job.chain_id, job.type, job.attempt, job.worker)
            if next_job is None:
                context.hints.finished.add(job.chain_id)
                return Settled(unblocked=tuple((yield from blockers.completed(context, job.chain_id))))
        case Status.PENDING if settlement.outcome == "released":
            yield _past(context, job, "released", None, job.scheduled_at)
            yield Statement(_RELEASED, written | {"begun": settlement.begun})
            context.hints.due.add(job.type)
            context.record("released", job.id, job.chain_id, job.type, job.attempt - 1)
        case Status.PENDING if settlement.outcome == "suspended":
            due = yield from steps.suspend(context, job.id, job.chain_id, settlement.claim.token, settlement.waits)
            yield _past(context, job, "suspended", None, due)
            yield Statement(_SUSPENDED, written | {"scheduled_at": due})
            context.hints.due.add(job.type)
            context.record("suspended", job.id, job.chain_id, job.type, job.attempt - 1)
        case Status.PENDING if settlement.outcome == "mismatched":
            due = context.now + settlement.delay
            yield _past(context, job, "mismatched", settlement.error, due)
            yield Statement(_MISMATCHED, written | {"error": settlement.error, "scheduled_at": due, "now": context.now})
            context.hints.due.add(job.type)
            context.record("mismatched", job.id, job.chain_id, job.type, job.attempt - 1)
        case Status.PENDING:
            due = max(context.now, context.now + settlement.delay if settlement.at is None else settlement.at)
            yield _past(context, job, settlement.outcome, settlement.error, due)
            yield Statement(_PENDING, written | {"error": settlement.error, "scheduled_at": due})
            context.hints.due.add(job.type)
            kind = settlement.outcome if settlement.outcome == "rescheduled" else "retrying"
            context.record(kind, job.id, job.chain_id, job.type, job.attempt)
        case ended:
            yield _past(context, job, settlement.outcome, settlement.error, None)
            given_back = int(settlement.outcome == "mismatched")
            changes = {"status": ended.value, "given_back": given_back, "error": settlement.error, "now": context.now}
            fingerprint = None if settlement.failure is None else settlement.failure.fingerprint
            yield Statement(_ENDED, written | changes | {"fingerprint": fingerprint})
            context.hints.finished.add(job.chain_id)
            context.record(ended.value, job.id, job.chain_id, job.type, job.attempt - given_back)
            return Settled(unblocked=tuple((yield from blockers.broken(context, job.chain_id))))
    return _WRITTEN


def _count(context: PlanContext, job: _Job, kind: Kind, settlement: Settlement) -> None:
    change = counters.ended(
        job.type,
        kind,
        context.now,
        scheduled_at=job.scheduled_at,
        started_at=job.started_at,
        timed=settlement.outcome != "mismatched",
    )
    context.count(change, job.id, settlement.failure)


def _completion(context: PlanContext, job: _Job, settlement: Settlement) -> Row:
    """The parameters of `settle_completed`, in order."""
    now = context.now
    ended = now if settlement.continuation is None else None
    return settlement.output, job.started_at, now, ended, job.seq, job.token


def _past(context: PlanContext, job: _Job, outcome: str, error: bytes | None, next_at: Micros | None) -> Statement:
    return attempts.past_attempt(context, job.id, job.attempt, job.worker, job.started_at, outcome, error, next_at)
