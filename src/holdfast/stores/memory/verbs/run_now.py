"""Run now: make pending jobs due."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import RunNow
from holdfast.stores.memory.state import State


def run_now(state: State, op: RunNow) -> list[Record]:
    jobs = state.jobs_with_status(op.job_ids, (Status.PENDING,), "pending")
    now = state.now()
    return [state.change(job, "hurried", scheduled_at=min(job.scheduled_at, now)) for job in jobs]
