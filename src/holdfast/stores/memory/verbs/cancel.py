"""Cancel: end unfinished chains."""

from __future__ import annotations

from holdfast.core.record import NOT_HELD, ChainRecord, Status
from holdfast.engine.operations import CancelChains
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit
from holdfast.stores.memory.verbs.chain_ends import chain_broken


def cancel(state: State, op: CancelChains) -> list[ChainRecord]:
    now = state.now()
    jobs = [state.need_chain(chain_id).last for chain_id in dict.fromkeys(op.chain_ids)]
    spared = {Status.RUNNING} if op.spare_running else set[Status]()
    jobs = [job for job in jobs if not job.status.finished and job.status not in spared]
    for job in jobs:
        if job.status is Status.RUNNING:
            state.end_attempt(job, "cancelled", op.reason)
            state.hints.lost.add(job.id)
        changes = NOT_HELD | {"status": Status.CANCELLED, "finished_at": now}
        state.change(job, "cancelled", **changes, error=op.reason)
        counting.count(state, job, "cancelled", now)
    write_audit(state, op.audit, "cancel", [(job.chain_id, job.chain_id) for job in jobs])
    for job in jobs:  # after all are cancelled: a chain of this batch must not fail because of another one
        chain_broken(state, job.chain_id, now)
    return [state.need_chain(chain_id) for chain_id in op.chain_ids]
