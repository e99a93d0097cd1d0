"""Renew: extend the leases of claims."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.record import Claim
from holdfast.engine.operations import LostReason, Renew
from holdfast.stores.memory.state import State


def renew(state: State, op: Renew) -> dict[Claim, LostReason]:
    now = state.now()
    lost: dict[Claim, LostReason] = {}
    for held, lease in op.claims:
        job = state.jobs.get(held.job_id)
        if reason := state.lost(job, held.token):
            lost[held] = reason
        elif job is not None:
            state.set(state.jobs, job.id, replace(job, leased_until=now + lease, renewed_at=now))
    return lost
