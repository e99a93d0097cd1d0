"""Operations on one chain or job, which one shard performs unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.engine.operations import Operation
from holdfast.stores.sharded.routing import Routing

_ID: dict[str, Callable[[Any], str]] = {
    "guard": lambda op: op.claim.job_id,
    "progress": lambda op: op.claim.job_id,
    "lock": lambda op: op.chain_id,
    "complete": lambda op: op.chain_id,
    "send": lambda op: op.chain_id,
    "get_dependents": lambda op: op.chain_id,
    "get_history": lambda op: op.job_id,
    "get_lanes": lambda op: op.job_id,
    "explain": lambda op: op.id,
}


def shard_of(routing: Routing, operation: Operation[Any]) -> str | None:
    """The shard that performs the whole operation; None if it concerns several."""
    verb = operation.verb
    if verb == "change_schedule":
        return routing.of_schedule(operation.name)  # type: ignore[attr-defined]
    find = _ID.get(verb)
    return None if find is None else routing.of_id(find(operation))
