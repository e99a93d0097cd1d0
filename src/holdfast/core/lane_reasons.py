"""Why a due job waits for its limits, rates and orders, and which orders a failed job holds. Pure: no clock, no I/O."""

from __future__ import annotations

import shlex

from holdfast.core.clock import to_datetime
from holdfast.core.details import lanes_of
from holdfast.core.explanation import Reason, Situation
from holdfast.core.lanes import SEPARATOR, Lane, LaneFacts, Track, WaitingJob
from holdfast.core.record import Record, Status


def lane_reasons(situation: Situation) -> list[Reason]:
    """One reason for each lane that does not let the job start now, or for each order that the failed job holds."""
    job, lanes = situation.job, lanes_of(situation.job.details)
    if not situation.lanes or lanes is None:
        return []
    if job.status is Status.FAILED:
        held = [each.lane for each in situation.lanes if each.lane.kind == "order" and each.lane.front == job.chain_id]
        return [Reason("order", f"It holds the {_named(lane)}: {_after_failure(job)}") for lane in held]
    weights = {rule.lane: rule.weight for rule in lanes.rules}
    waiting = WaitingJob(job.seq, job.id, job.chain_id, weights=weights)
    track = Track(lanes.track, lanes.type, lanes.priority, lanes.fair, ())
    now = situation.facts.now
    return [_reason(each, situation) for each in situation.lanes if not each.lane.allows(track, waiting, now)]


def _reason(facts: LaneFacts, situation: Situation) -> Reason:
    lane = facts.lane
    named = _named(lane)
    if lane.number == 0:
        name, _, key = lane.id.partition(SEPARATOR)
        command = shlex.join(["holdfast", "limits", "reset", name, *(("--key", key) if key else ())])
        return Reason(lane.kind, f"The {named} is 0: it is paused until its number is set or reset (`{command}`).")
    holders = f" Running: {', '.join(facts.holders)}." if facts.holders else ""
    if lane.kind == "limit":
        return Reason("limit", f"The {named} allows {lane.number} at once, and {lane.running} run.{holders}")
    if lane.kind == "order":
        front = None if lane.front is None else situation.fronts.get(lane.front)
        return Reason("order", f"The {named} runs one job at a time.{holders}{_in_front(front)}")
    until = None if lane.wake_at is None else to_datetime(lane.wake_at)
    return Reason("rate", f"The {named} does not allow another attempt yet.", until)


def _in_front(job: Record | None) -> str:
    if job is None or job.status is Status.RUNNING:  # a running one is among the holders
        return ""
    if job.status is Status.FAILED:
        return f" Job {job.id} failed and holds it: {_after_failure(job)}"
    return f" Job {job.id} of chain {job.chain_id} is in front of it and is {job.status}."


def _after_failure(job: Record) -> str:
    return f"later jobs wait until it is retried, deleted or skipped (`{shlex.join(['holdfast', 'skip', job.id])}`)."


def _named(lane: Lane) -> str:
    name, _, key = lane.id.partition(SEPARATOR)
    return f"{lane.kind} {name!r}" + (f", key {key!r}" if key else "")
