"""Run now: make pending jobs due."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import RunNow
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit
from holdfast.stores.memory.verbs.steps import end_sleeps, waits_for


def run_now(state: State, op: RunNow) -> list[Record]:
    jobs = state.jobs_with_status(op.job_ids, (Status.PENDING,), "pending")
    now = state.now()
    made_due = [job for job in dict.fromkeys(jobs) if end_sleeps(state, job, now) or not waits_for(state, job)]
    later = dict.fromkeys((job.id, job.chain_id) for job in made_due if job.scheduled_at > now)
    write_audit(state, op.audit, "run_now", later)
    for job in made_due:
        state.change(job, "made_due", scheduled_at=min(job.scheduled_at, now))
    return [state.jobs[job.id] for job in jobs]
