"""Keep: set how long finished chains are kept from now on."""

from __future__ import annotations

import heapq

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.engine.operations import Keep
from holdfast.stores.memory.state import State


def keep(state: State, op: Keep) -> list[bool | None]:
    return [_keep(state, chain_id, op.keep) for chain_id in op.chain_ids]


def _keep(state: State, chain_id: str, keep: Micros | None) -> bool | None:
    chain = state.chain(chain_id)
    if chain is None or state.expired(chain):
        return None
    finished = chain.last.finished_at
    if finished is None:
        return False
    until = None if keep is None else state.now() - finished + keep
    state.set(state.jobs, chain.last.id, replace(chain.last, keep=until))
    if until is not None:
        heapq.heappush(state.expiring, (finished + until, chain_id))
    return True
