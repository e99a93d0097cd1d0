"""Limits: write declarations and numbers of operators, report them, and skip failed jobs in orders."""

from __future__ import annotations

from collections import Counter

from holdfast.core.lanes import SEPARATOR, LaneFacts, check_override, lane_id
from holdfast.core.record import Record, Status
from holdfast.engine.operations import DeclareLimits, GetLanes, GetLimits, LimitReport, SetLimit, SkipJobs
from holdfast.engine.operations.limits import HOLDERS_SHOWN
from holdfast.errors import LimitNotFound
from holdfast.stores.limit_reports import LimitRow, reports, shown_lanes
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit


def declare_limits(state: State, op: DeclareLimits) -> None:
    lanes = state.lanes
    for declared in op.limits:
        before = lanes.limits.get(declared.name)
        override = None if before is None or before.kind != declared.kind else before.override
        stored = LimitRow(declared.name, declared.kind, declared.number, declared.per, declared.burst, override)
        if stored != before:
            state.set(lanes.limits, declared.name, stored)
            _wake(state, declared.name)


def set_limit(state: State, op: SetLimit) -> None:
    lanes = state.lanes
    limit = lanes.limits.get(op.name)
    if limit is None:
        raise LimitNotFound(op.name)
    check_override(op.name, limit.kind, op.number)
    before = limit.override if op.key is None else lanes.overrides.get(lane_id(op.name, op.key))
    if before == op.number:
        return
    if op.key is None:
        state.set(lanes.limits, op.name, limit._replace(override=op.number))
    elif op.number is None:
        state.drop(lanes.overrides, lane_id(op.name, op.key))
    else:
        state.set(lanes.overrides, lane_id(op.name, op.key), op.number)
    _wake(state, op.name)
    write_audit(state, op.audit, op.action, [(op.name, None)])


def get_limits(state: State, op: GetLimits) -> list[LimitReport]:
    lanes = state.lanes
    waiting: Counter[str] = Counter()
    for job_id, found in lanes.of.items():
        if state.jobs[job_id].status is Status.PENDING:
            waiting.update(rule.lane for rule in found.rules)
    running = {lane: len(holders) for lane, holders in lanes.holders.items() if holders}
    shown = shown_lanes(waiting, running, lanes.overrides, op.lanes)
    holders = {lane: list(held) for lane, held in lanes.holders.items()}
    return reports(
        list(lanes.limits.values()), shown, waiting=waiting, running=running, overrides=lanes.overrides, holders=holders
    )


def get_lanes(state: State, op: GetLanes) -> list[LaneFacts]:
    lanes = state.lanes
    known = [lane for lane in op.lanes if lane.partition(SEPARATOR)[0] in lanes.limits]
    return [LaneFacts(lanes.lane(lane), tuple(lanes.holders.get(lane, ()))[:HOLDERS_SHOWN]) for lane in known]


def skip(state: State, op: SkipJobs) -> list[Record]:
    jobs = state.jobs_with_status(op.job_ids, (Status.FAILED,), "failed")
    for job in jobs:
        if state.lanes.held_orders(state, job):
            state.lanes.skip(state, job)
            write_audit(state, op.audit, "skip", [(job.id, job.chain_id)])
    return jobs


def _wake(state: State, name: str) -> None:
    """The numbers of a limit have changed: wake its lanes."""
    for lane in state.lanes.tracks.parked_lanes():
        if lane.partition(SEPARATOR)[0] == name:
            state.lanes.wake(state, lane)
