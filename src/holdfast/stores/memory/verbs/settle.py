"""Settle: write the outcomes of attempts, each with its claim."""

from __future__ import annotations

from collections import defaultdict

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.counters import settled_kind
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import NOT_HELD, Record, Status
from holdfast.engine.operations import WRITTEN, Settle, Settled, Start
from holdfast.errors import HoldfastError
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.chain_ends import chain_broken, chain_completed
from holdfast.stores.memory.verbs.start import add, check_continuation, check_starts, start
from holdfast.stores.memory.verbs.steps import suspend

Times = defaultdict[str, list[tuple[Micros, Micros]]]
"""Per type, when each completed job was due and when its attempt began."""


def settle(state: State, op: Settle) -> list[Settled]:
    now = state.now()
    completed: Times = defaultdict(list)
    answers = [_settle(state, settlement, now, completed) for settlement in op.settlements]
    counting.count_completed(state, completed, now)
    return answers


def _settle(state: State, settlement: Settlement, now: Micros, completed: Times) -> Settled:
    job_id, token = settlement.claim
    job = state.jobs.get(job_id)
    if job is None or job.status is not Status.RUNNING or job.token != token:
        written_before = job is not None and (job.token, job.status) == (token, settlement.status)
        return WRITTEN if written_before else Settled(lost=state.lost(job, token))
    if settlement.keep is not None:
        job = replace(job, keep=settlement.keep)
    begun = (job.started_at or now) + settlement.ahead
    if settlement.starts or settlement.continuation is not None:
        refused = _start_others(state, settlement, now)
        if refused is not None:
            return Settled(refused=refused)
    if settlement.status is Status.COMPLETED:
        completed[job.type].append((job.scheduled_at, begun))
        return _complete(state, job, settlement, begun, now)
    if settlement.ahead:
        job = replace(job, started_at=begun)
    match settlement.status:
        case Status.PENDING if settlement.outcome == "suspended":
            suspend(state, job, settlement, now)
        case Status.PENDING:
            _return_to_pending(state, job, settlement, now)
        case _:
            return _end(state, job, settlement, now)
    return WRITTEN


def _start_others(state: State, settlement: Settlement, now: Micros) -> HoldfastError | None:
    """Create the side chains and the continuation. If one of them is refused, create none, and return the reason."""
    starts, next_job = settlement.starts, settlement.continuation
    refused = check_starts(state, starts, settlement.expected) if starts else None
    if refused is None and next_job is not None:
        refused = check_continuation(state, next_job, starts, settlement.expected)
    if refused is not None:
        return refused
    if starts:
        start(state, Start(starts))
    if next_job is not None:
        add(state, next_job, now)
        counting.count_started(state, {next_job.type: 1}, now)
    return None


def _complete(state: State, job: Record, settlement: Settlement, begun: Micros, now: Micros) -> Settled:
    # The job keeps its worker and its token: a settlement that is sent again finds them.
    completed = replace(
        job,
        status=Status.COMPLETED,
        output=settlement.output,
        error=None,
        started_at=begun,
        finished_at=now,
        leased_until=None,
        renewed_at=None,
        mismatches=None,
        mismatched_at=None,
    )
    state.put(completed, "completed")
    if settlement.continuation is None and job.chain_id in state.dependents:
        return Settled(unblocked=tuple(chain_completed(state, job.chain_id, now)))
    return WRITTEN


def _return_to_pending(state: State, job: Record, settlement: Settlement, now: Micros) -> None:
    changes = NOT_HELD | {"status": Status.PENDING, "token": settlement.claim.token}
    due = max(now, now + settlement.delay if settlement.at is None else settlement.at)
    match settlement.outcome:
        case "released":
            state.end_attempt(job, "released", None, job.scheduled_at)
            if not settlement.begun:
                state.lanes.refund(state, job)
            state.change(job, "released", **changes | {"attempt": job.attempt - 1})
            return
        case "mismatched":
            event = "mismatched"
            changes["attempt"] = job.attempt - 1
            changes["mismatches"] = (job.mismatches or 0) + 1
            changes["mismatched_at"] = now if job.mismatched_at is None else job.mismatched_at
        case "rescheduled":
            event = "rescheduled"
        case _:
            event = "retrying"
    if kind := settled_kind(Status.PENDING, settlement.outcome):
        counting.count_settled(state, job, kind, now, settlement.failure)
    state.end_attempt(job, settlement.outcome, settlement.error, due)
    state.change(job, event, **changes, error=settlement.error, scheduled_at=due)


def _end(state: State, job: Record, settlement: Settlement, now: Micros) -> Settled:
    state.end_attempt(job, settlement.outcome, settlement.error)
    changes = NOT_HELD | {"status": settlement.status, "token": settlement.claim.token, "finished_at": now}
    if settlement.outcome == "mismatched":
        changes["attempt"] = job.attempt - 1
    state.change(job, str(settlement.status), **changes, error=settlement.error)
    kind = settled_kind(settlement.status, settlement.outcome)
    assert kind is not None
    timed = settlement.outcome != "mismatched"
    counting.count_settled(state, job, kind, now, settlement.failure, timed=timed)
    return Settled(unblocked=tuple(chain_broken(state, job.chain_id, now)))
