"""Next due: how long until a job can be claimed or reaped."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.engine.operations import NextDue
from holdfast.stores.memory.state import State


def next_due(state: State, op: NextDue) -> Micros | None:
    now = state.now()
    moments: list[Micros] = []
    for name in op.types:
        moment = state.next_due(name)
        if moment is not None and name not in state.paused:
            moments.append(moment)
    if state.lanes.of:
        moment = state.lanes.next_due([name for name in op.types if name not in state.paused], now)
        if moment is not None:
            moments.append(moment)
    running = [job for job in map(state.jobs.__getitem__, state.running) if job.type in op.types]
    moments += [job.leased_until for job in running if job.leased_until is not None]
    return max(0, min(moments) - now) if moments else None
