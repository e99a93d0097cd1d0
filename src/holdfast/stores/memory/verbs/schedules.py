"""Schedules: read them, and change one together with the start of its chains."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.clock import Micros
from holdfast.engine.operations import (
    SCHEDULES_CHANGED,
    ChangeSchedule,
    DueSchedules,
    FoundSchedules,
    GetSchedules,
    Start,
    Started,
    StoredSchedule,
)
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit
from holdfast.stores.memory.verbs.start import start


class ScheduleRow(NamedTuple):
    """A schedule in memory."""

    type: str
    ticks_at: Micros | None
    stored: StoredSchedule


def get_schedules(state: State, op: GetSchedules) -> FoundSchedules:
    names = sorted(state.schedules) if op.names is None else sorted(set(op.names) & state.schedules.keys())
    return FoundSchedules(state.now(), [state.schedules[name].stored for name in names])


def due_schedules(state: State, op: DueSchedules) -> FoundSchedules:
    now = state.now()
    ticked = [
        (row.ticks_at, name)
        for name, row in state.schedules.items()
        if row.ticks_at is not None and row.type in op.types
    ]
    due = sorted(entry for entry in ticked if entry[0] <= now)
    later = [at - now for at, _ in ticked if at > now]
    return FoundSchedules(
        now, [state.schedules[name].stored for _, name in due[: op.limit]], min(later) if later else None
    )


def change_schedule(state: State, op: ChangeSchedule) -> list[Started] | None:
    row = state.schedules.get(op.name)
    version = None if row is None else row.stored.version
    if version == op.version:
        return start(state, Start(op.starts))
    if version != op.expected:
        return None
    started = start(state, Start(op.starts))
    if op.body is None:
        state.drop(state.schedules, op.name)
    else:
        stored = StoredSchedule(op.name, op.version, op.body)
        state.set(state.schedules, op.name, ScheduleRow(op.type, op.ticks_at, stored))
    if op.announce:
        state.hints.due.add(SCHEDULES_CHANGED)
    write_audit(state, op.audit, op.action, [(op.name, None)])
    return started
