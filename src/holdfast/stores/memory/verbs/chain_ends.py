"""The end of a chain: unblock, fail or cancel the jobs that wait for it, and start the hooks of failed jobs."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core import failure
from holdfast.core.blocker_rules import NONE_FAILED, WHEN_FAILED, waiting_status, waits_for_end
from holdfast.core.clock import Micros
from holdfast.core.error_groups import blocker_failed
from holdfast.core.lifecycle import create, hook_chain
from holdfast.core.record import Record, Status
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State

Unblocked = list[tuple[str, str]]
"""(id, type) of the jobs that became pending."""


def chain_completed(state: State, chain_id: str, now: Micros) -> Unblocked:
    """Decrease the open blockers of every dependent. Returns the jobs that became unblocked."""
    unblocked: Unblocked = []
    broken: list[str] = []
    waiting: dict[str, None] = {}
    for job_id in state.dependents.get(chain_id, ()):
        job = state.jobs[job_id]
        left = job.open_blockers - 1
        if waits_for_end(job.on_blocker_failure):
            waiting[job_id] = None
        elif left == 0 and job.status is Status.BLOCKED:
            _unblock(state, job, now, unblocked)
        else:
            state.set(state.jobs, job_id, replace(job, open_blockers=left))
    for job_id in waiting:
        _count_end(state, state.jobs[job_id], now, unblocked, broken)
    _break(state, broken, now, unblocked)
    return unblocked


def chain_broken(state: State, chain_id: str, now: Micros) -> Unblocked:
    """A chain failed or was cancelled: update the dependents that do not wait for completions only."""
    unblocked: Unblocked = []
    _break(state, [chain_id], now, unblocked)
    return unblocked


def _break(state: State, broken: list[str], now: Micros, unblocked: Unblocked) -> None:
    while broken:
        chain_id = broken.pop()
        for job_id in dict.fromkeys(state.dependents.get(chain_id, ())):
            job = state.jobs[job_id]
            if job.status is not Status.BLOCKED:
                continue
            if job.on_blocker_failure == "fail":
                fail_with(state, job, chain_id, now)
                broken.append(job.chain_id)
            elif job.on_blocker_failure == WHEN_FAILED:
                _unblock(state, job, now, unblocked)
            elif waits_for_end(job.on_blocker_failure):
                _count_end(state, job, now, unblocked, broken)


def _count_end(state: State, job: Record, now: Micros, unblocked: Unblocked, broken: list[str]) -> None:
    """A blocker of a job with `when=` ended. Look at all its blockers when none seems to be open."""
    if job.status is not Status.BLOCKED:
        return
    status, left = Status.BLOCKED, job.open_blockers - 1
    if left <= 0:
        statuses = [state.need_chain(chain).last.status for chain in dict.fromkeys(state.blockers[job.id])]
        status, left = waiting_status(job.on_blocker_failure, statuses)
    if status is Status.PENDING:
        _unblock(state, job, now, unblocked)
    elif status is Status.CANCELLED:
        cancel_waiting(state, job, now)
        broken.append(job.chain_id)
    else:
        state.set(state.jobs, job.id, replace(job, open_blockers=left))


def _unblock(state: State, job: Record, now: Micros, unblocked: Unblocked) -> None:
    due = max(job.scheduled_at, now)
    state.change(job, "unblocked", open_blockers=0, status=Status.PENDING, scheduled_at=due)
    unblocked.append((job.id, job.type))


def cancel_waiting(state: State, job: Record, now: Micros) -> None:
    """Cancel a job that waited for a failure, because all its blockers completed."""
    changes = {"status": Status.CANCELLED, "open_blockers": 0, "error": NONE_FAILED, "finished_at": now}
    state.change(job, "cancelled", **changes)
    counting.count(state, job, "cancelled", now)


def fail_with(state: State, job: Record, chain_id: str, now: Micros) -> None:
    """Fail a blocked job because one of its blockers did not complete."""
    error = failure.write("BlockerFailed", f"chain {chain_id}, which this job waited for, did not complete")
    failed = state.change(job, "failed", status=Status.FAILED, error=error, finished_at=now)
    counting.count(state, job, "failed", now, blocker_failed(job.type))
    start_hook(state, failed, now)


def start_hook(state: State, failed: Record, now: Micros) -> None:
    """Start the failure hook of a job that failed, if it has one."""
    hook = hook_chain(failed)
    if hook is not None:
        state.seq += 1
        state.append(state.chains, hook.id, hook.id)
        record = create(hook, now, state.seq)
        state.put(record, "created")
        counting.count(state, record, "started", now)
