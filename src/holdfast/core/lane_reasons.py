"""Why a due job waits for its limits, rates and orders. Pure: no clock, no I/O."""

from __future__ import annotations

from holdfast.core.clock import to_datetime
from holdfast.core.details import lanes_of
from holdfast.core.explanation import Reason, Situation
from holdfast.core.lanes import SEPARATOR, LaneFacts, WaitingJob, rate_allows_at


def lane_reasons(situation: Situation) -> list[Reason]:
    """One reason for each lane that does not let the job start now."""
    job, lanes = situation.job, lanes_of(situation.job.details)
    if not situation.lanes or lanes is None:
        return []
    weights = {rule.lane: rule.weight for rule in lanes.rules}
    waiting = WaitingJob(job.seq, job.id, job.chain_id, weights=weights)
    now = situation.facts.now
    return [
        _reason(each, now, weights.get(each.lane.id, 1), job.chain_id)
        for each in situation.lanes
        if not each.lane.allows(waiting, now)
    ]


def _reason(facts: LaneFacts, now: int, weight: int, chain_id: str) -> Reason:
    lane = facts.lane
    name, _, key = lane.id.partition(SEPARATOR)
    named = f"{lane.kind} {name!r}" + (f", key {key!r}" if key else "")
    if lane.number == 0:
        return Reason(lane.kind, f"The {named} is 0: it is paused until its number is set or reset.")
    holders = f" Running: {', '.join(facts.holders)}." if facts.holders else ""
    if lane.kind == "limit":
        return Reason("limit", f"The {named} allows {lane.number} at once, and {lane.running} run.{holders}")
    if lane.kind == "order":
        ahead = f" Chain {lane.front} is in front of it." if lane.front not in (None, chain_id) else ""
        return Reason("order", f"The {named} runs one job at a time.{holders}{ahead}")
    at = rate_allows_at(lane.tat, now, number=lane.number, per=lane.per, burst=lane.burst, weight=weight)
    return Reason("rate", f"The {named} does not allow another attempt yet.", None if at is None else to_datetime(at))
