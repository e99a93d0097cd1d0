"""Prune: delete finished chains whose keep time is over."""

from __future__ import annotations

import heapq

from holdfast.engine.operations import Prune
from holdfast.stores.memory.state import State


def prune(state: State, op: Prune) -> list[str]:
    state.change_indexes()
    now = state.now()
    pruned: list[str] = []
    kept: list[tuple[int, str]] = []
    while state.expiring and state.expiring[0][0] <= now and len(pruned) < op.limit:
        expires, chain_id = heapq.heappop(state.expiring)
        if state.expiry(chain_id) != expires:
            continue  # deleted, or retried since
        if any(state.waiting_for(chain_id, {chain_id})):
            kept.append((expires, chain_id))
        else:
            state.remove_chain(chain_id)
            pruned.append(chain_id)
    for entry in kept:
        heapq.heappush(state.expiring, entry)
    return pruned
