"""Progress: store how far an attempt has come."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.engine.operations import LostReason, ReportProgress
from holdfast.stores.memory.state import State


def progress(state: State, op: ReportProgress) -> LostReason | None:
    job = state.jobs.get(op.claim.job_id)
    reason = state.lost(job, op.claim.token)
    if reason is None and job is not None:
        state.set(state.jobs, job.id, replace(job, progress=op.fraction, progress_note=op.note))
        state.record(job, "progressed")
    return reason
