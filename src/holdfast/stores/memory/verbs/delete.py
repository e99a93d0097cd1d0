"""Delete: remove chains that no unfinished job waits for."""

from __future__ import annotations

from holdfast.engine.operations import Delete
from holdfast.errors import StillReferenced
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit


def delete(state: State, op: Delete) -> list[str]:
    deleted = [chain_id for chain_id in dict.fromkeys(op.chain_ids) if chain_id in state.chains]
    if op.cascade:
        for chain_id in deleted:  # the list grows during the loop
            for job_id in state.chains[chain_id]:
                deleted += [chain for chain in dict.fromkeys(state.blockers.get(job_id, ())) if chain not in deleted]
    referenced = [(chain_id, job.id) for chain_id in deleted for job in state.waiting_for(chain_id, set(deleted))]
    if referenced:
        raise StillReferenced(referenced)
    for chain_id in deleted:
        state.remove_chain(chain_id)
    write_audit(state, op.audit, "delete", [(chain_id, chain_id) for chain_id in deleted])
    return deleted
