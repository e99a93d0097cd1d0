"""Guard: check in a transaction that a claim is still valid."""

from __future__ import annotations

from holdfast.engine.operations import Guard
from holdfast.errors import ClaimLost
from holdfast.stores.memory.state import State


def guard(state: State, op: Guard) -> None:
    if reason := state.lost(state.jobs.get(op.claim.job_id), op.claim.token):
        raise ClaimLost(op.claim.job_id, reason)
