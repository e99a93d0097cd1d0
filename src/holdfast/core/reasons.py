"""The reasons why a job is in its state. Pure: no clock, no I/O.

Each function returns the reasons of one capability. A claim takes a job only if the job is pending and due, its type is
not paused, and no other condition prevents it, such as a full lane. Each of these conditions needs a function here.
`tests/property/test_explain.py` compares the functions with the claim on every store.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from datetime import datetime

from holdfast.core.blocker_rules import WHEN_FAILED, waits_for_end
from holdfast.core.clock import SECOND, Micros, to_datetime
from holdfast.core.explanation import AHEAD_LIMIT, NAMED_MESSAGES, Reason, Situation
from holdfast.core.failure import read_error
from holdfast.core.lane_reasons import lane_reasons
from holdfast.core.record import Record, Status, is_failing
from holdfast.core.steps import NEVER
from holdfast.core.worker_record import LATE_REPORT, WorkerRecord


def reasons(situation: Situation) -> list[Reason]:
    """All reasons that apply, the most specific first: of the job, of its type, of the workers."""
    found = [reason for explain in EXPLAINERS for reason in explain(situation)]
    return found or [_busy_or_queued(situation)]


def is_due(job: Record, now: Micros) -> bool:
    """Whether a claim may take the job, unless its type or something else prevents it."""
    return job.status is Status.PENDING and job.scheduled_at <= now


def _finished(situation: Situation) -> list[Reason]:
    job = situation.job
    if not job.status.finished or job.finished_at is None:
        return []
    error = read_error(job.error)
    outcome = {Status.COMPLETED: "It completed", Status.FAILED: "It failed"}.get(job.status, "It was cancelled")
    detail = f": {error}" if error is not None and job.status is not Status.COMPLETED else ""
    return [Reason("finished", f"{outcome} at {_time(job.finished_at)}{detail}.")]


def _running(situation: Situation) -> list[Reason]:
    job = situation.job
    if job.status is not Status.RUNNING or job.started_at is None or job.leased_until is None:
        return []
    text = f"Worker {job.worker} runs attempt {job.attempt} since {_time(job.started_at)}."
    if job.leased_until <= situation.facts.now:
        text += f" Its lease expired at {_time(job.leased_until)}: a worker of its type returns the job to pending."
    elif all(worker.id != job.worker for worker in situation.workers):
        text += (
            f" This worker is not live. The job is run again after its lease, which ends at {_time(job.leased_until)}."
        )
    return [Reason("running", text)]


def _blocked(situation: Situation) -> list[Reason]:
    job, facts = situation.job, situation.facts
    if job.status is not Status.BLOCKED:
        return []
    named = ", ".join(f"{each.chain_id} ({each.type}, {each.status})" for each in facts.blockers)
    others = job.open_blockers - len(facts.blockers)
    more = f" and {others:,} more" if others > 0 else ""
    chains = "1 chain" if job.open_blockers == 1 else f"{job.open_blockers:,} chains"
    if waits_for_end(job.on_blocker_failure):
        event = "a failure of one of" if job.on_blocker_failure == WHEN_FAILED else "the end of"
        return [Reason("blocked", f"It waits for {event} {chains}: {named}{more}.")]
    text = f"It waits for {chains} to complete: {named}{more}."
    if any(each.status in (Status.FAILED, Status.CANCELLED) for each in facts.blockers):
        text += " A failed or cancelled chain completes only after a retry."
    return [Reason("blocked", text)]


def _message(situation: Situation) -> list[Reason]:
    job, names = situation.job, situation.facts.messages
    if not names:
        return []
    named = ", ".join(f"`{name}`" for name in names[:NAMED_MESSAGES]) + (", ..." if names[NAMED_MESSAGES:] else "")
    text = f"It waits for {'the message' if len(names) == 1 else 'one of the messages'} {named}"
    command = shlex.join(["holdfast", "send", job.chain_id, names[0] if len(names) == 1 else "NAME", "JSON"])
    text += f" (`{command}`)."
    if job.scheduled_at >= NEVER:
        return [Reason("message", text)]
    until = to_datetime(job.scheduled_at)
    return [Reason("message", f"{text} Without it, it continues at {_iso(until)}.", until)]


def _scheduled(situation: Situation) -> list[Reason]:
    job = situation.job
    if (
        situation.facts.messages
        or job.status not in (Status.PENDING, Status.BLOCKED)
        or job.scheduled_at <= situation.facts.now
    ):
        return []
    until = to_datetime(job.scheduled_at)
    if job.status is Status.PENDING and job.mismatches is not None:
        since = "" if job.mismatched_at is None else f" since {_time(job.mismatched_at)}"
        times = "once" if job.mismatches == 1 else f"{job.mismatches:,} times in a row"
        text = f"Its input did not match the handler of the worker, {times}{since}{_error(job)}."
        return [Reason("retrying", f"{text} The next attempt is due at {_iso(until)}.", until)]
    if is_failing(job):
        text = f"Attempt {job.attempt}{_limit(job)} did not complete{_error(job)}."
        return [Reason("retrying", f"{text} The next attempt is due at {_iso(until)}.", until)]
    return [Reason("scheduled", f"It is scheduled for {_iso(until)}.", until)]


def _paused(situation: Situation) -> list[Reason]:
    if not situation.facts.paused or not _waits(situation.job):
        return []
    name = situation.job.type
    return [Reason("paused", f"Jobs of the type `{name}` are paused until `holdfast resume {name}`.")]


def _external(situation: Situation) -> list[Reason]:
    if not situation.external or not _waits(situation.job):
        return []
    text = f"The type `{situation.job.type}` is declared without a handler: it waits for a completion from outside."
    return [Reason("external", text)]


def _no_worker(situation: Situation) -> list[Reason]:
    if situation.external or not _waits(situation.job) or claiming(situation):
        return []
    name = situation.job.type
    draining = sum(name in worker.types for worker in situation.workers)
    rest = f" {draining:,} that run it drain." if draining > 1 else " One that runs it drains." if draining else ""
    return [Reason("no_worker", f"No live worker runs jobs of the type `{name}`.{rest}")]


EXPLAINERS: tuple[Callable[[Situation], list[Reason]], ...] = (
    _finished,
    _running,
    _blocked,
    _message,
    _scheduled,
    lane_reasons,
    _paused,
    _external,
    _no_worker,
)
"""In the order of the reasons. Only if none of them applies, the job is queued, or all its workers are busy."""


def claiming(situation: Situation) -> list[WorkerRecord]:
    """The live workers that claim jobs of this type."""
    return [worker for worker in situation.workers if situation.job.type in worker.types and not worker.draining]


def _busy_or_queued(situation: Situation) -> Reason:
    facts, workers = situation.facts, claiming(situation)
    slots = sum(worker.concurrency for worker in workers)
    live = "1 live worker runs" if len(workers) == 1 else f"{len(workers):,} live workers run"
    if all(worker.busy >= worker.concurrency for worker in workers):
        used = "its only slot is in use" if slots == 1 else f"all {slots:,} slots are in use"
        text = f"{live} the type `{situation.job.type}`, and {used}."
        return Reason("busy", f"{text} {_ahead(facts.ahead)}")
    text = f"It is due since {_time(situation.job.scheduled_at)}. {_ahead(facts.ahead)} {live} the type."
    return Reason("queued", text + _silence(workers, facts.now))


def _silence(workers: list[WorkerRecord], now: Micros) -> str:
    """A sentence about workers that have missed a report. They may have been killed."""
    silent = now - max((worker.seen_at for worker in workers), default=now)
    if silent <= LATE_REPORT:
        return ""
    which, who = ("It has not", "it") if len(workers) == 1 else ("None of them has", "they")
    return f" {which} reported itself for {silent // SECOND} s, so {who} may be gone."


def _ahead(count: int) -> str:
    if count == 0:
        return "It is the next job of its type."
    number = f"At least {count:,} jobs" if count >= AHEAD_LIMIT else "1 job" if count == 1 else f"{count:,} jobs"
    return f"{number} of its type {'is' if count == 1 else 'are'} ahead of it."


def _waits(job: Record) -> bool:
    return job.status in (Status.PENDING, Status.BLOCKED)


def _error(job: Record) -> str:
    error = read_error(job.error)
    return "" if error is None else f": {error}"


def _limit(job: Record) -> str:
    return f" of {job.max_attempts}" if job.max_attempts else ""


def _time(at: Micros) -> str:
    return _iso(to_datetime(at))


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
