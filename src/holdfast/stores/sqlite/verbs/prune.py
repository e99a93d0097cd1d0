"""Prune: delete finished chains after their keep time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from holdfast.core.lifecycle import CLEARED_INPUT
from holdfast.engine.operations import Prune
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
from holdfast.stores.sql.prune_batches import prune_batches
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs import counters, steps
from holdfast.stores.sqlite.verbs.audit import prune_audit
from holdfast.stores.sqlite.verbs.delete import remove

_EXPIRED = SQL["prune_expired"]
_TAKEN = SQL["prune_taken"]
_CLEAR = SQL["prune_clear"]
_CHAIN_JOBS = SQL["chain_jobs"]
_DELETE_ATTEMPTS = SQL["delete_attempts"]


def prune(context: PlanContext, operation: Prune) -> Plan[list[str]]:
    pruned = yield from prune_batches(partial(_prune_batch, context), operation.limit)
    yield from prune_audit(context)
    yield from counters.add_up(context)
    return pruned


def _prune_batch(context: PlanContext, limit: int) -> Plan[tuple[list[str], bool]]:
    """Delete or clear expired chains. Returns those that were deleted, and whether some were cleared."""
    expired = [chain_id for (chain_id,) in (yield Statement(_EXPIRED, {"now": context.now, "limit": limit}))]
    if not expired:
        return [], False
    taken: dict[str, int] = dict((yield Statement(_TAKEN, {"ids": as_json(expired), "now": context.now})))
    yield from _clear(taken)
    expired = [chain_id for chain_id in expired if chain_id not in taken]
    yield from remove(context, expired)
    return expired, bool(taken)


def _clear(taken: Mapping[str, int]) -> Plan[None]:
    """Remove the payloads of chains that exist only because their keys are not free yet, each until its time."""
    for chain_id, until in taken.items():
        jobs = yield Statement(_CHAIN_JOBS, {"chain_id": chain_id})
        yield Many(_CLEAR, [{"seq": seq, "until": until, "input": CLEARED_INPUT} for seq, *_ in jobs])
        ids = [{"id": id} for _, id, *_ in jobs]
        yield Many(_DELETE_ATTEMPTS, ids)
        yield from steps.remove_all(ids, [chain_id])
