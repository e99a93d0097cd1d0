"""Examine: what the operator should know about this store."""

from __future__ import annotations

from itertools import islice

from holdfast.core.record import Status
from holdfast.engine.operations import Examine, Finding
from holdfast.stores import held_orders
from holdfast.stores.memory.state import State


def examine(state: State, op: Examine) -> list[Finding]:
    failed = (job for job in state.jobs.values() if job.status is Status.FAILED)
    held = ((lane, job.id) for job in failed for lane in state.lanes.held_orders(state, job))
    return [
        Finding("warning", "durability", "everything is lost when this process ends"),
        *held_orders.findings(islice(held, held_orders.SHOWN)),
    ]
