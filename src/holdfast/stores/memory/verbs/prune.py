"""Prune: delete finished chains whose keep time is over."""

from __future__ import annotations

import heapq

from msgspec.structs import replace

from holdfast.core.lifecycle import CLEARED_INPUT, key_taken_until
from holdfast.core.record import Status
from holdfast.engine.operations import Prune
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import prune_audit


def prune(state: State, op: Prune) -> list[str]:
    state.change_indexes()
    now = state.now()
    counting.add_up(state)
    counting.forget_old(state, now)
    pruned: list[str] = []
    kept: list[tuple[int, str]] = []
    while state.expiring and state.expiring[0][0] <= now and len(pruned) < op.limit:
        expires, chain_id = heapq.heappop(state.expiring)
        chain = state.chain(chain_id)
        taken_until = None if chain is None else key_taken_until(chain)
        if expires not in (state.expiry(chain_id), taken_until):
            continue  # deleted, or retried since
        holds_lane = (
            chain is not None and chain.last.status is Status.FAILED and state.lanes.held_orders(state, chain.last)
        )
        if holds_lane or any(state.waiting_for(chain_id, {chain_id})):
            kept.append((expires, chain_id))
        elif taken_until is not None and taken_until > now:
            _clear(state, chain_id)
            kept.append((taken_until, chain_id))
        else:
            state.remove_chain(chain_id)
            pruned.append(chain_id)
    for entry in kept:
        heapq.heappush(state.expiring, entry)
    prune_audit(state)
    return pruned


def _clear(state: State, chain_id: str) -> None:
    """Remove the payloads of a chain that exists only because its key is not free yet."""
    for job_id in state.chains[chain_id]:
        cleared = replace(state.jobs[job_id], input=CLEARED_INPUT, output=None, error=None)
        state.set(state.jobs, job_id, cleared)
        state.drop(state.history, job_id)
    state.remove_steps(chain_id, state.chains[chain_id])
