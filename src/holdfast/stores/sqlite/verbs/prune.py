"""Prune: delete finished chains after their keep time."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.core.lifecycle import CLEARED_INPUT
from holdfast.engine.operations import Prune
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
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
    rows = yield Statement(_EXPIRED, {"now": context.now, "limit": operation.limit})
    expired = [chain_id for (chain_id,) in rows]
    if expired:
        taken: dict[str, int] = dict((yield Statement(_TAKEN, {"ids": as_json(expired), "now": context.now})))
        yield from _clear(taken)
        expired = [chain_id for chain_id in expired if chain_id not in taken]
    yield from remove(context, expired)
    yield from prune_audit(context)
    yield from counters.add_up(context)
    return expired


def _clear(taken: Mapping[str, int]) -> Plan[None]:
    """Remove the payloads of chains that exist only because their keys are not free yet, each until its time."""
    for chain_id, until in taken.items():
        jobs = yield Statement(_CHAIN_JOBS, {"chain_id": chain_id})
        yield Many(_CLEAR, [{"seq": seq, "until": until, "input": CLEARED_INPUT} for seq, *_ in jobs])
        ids = [{"id": id} for _, id, *_ in jobs]
        yield Many(_DELETE_ATTEMPTS, ids)
        yield from steps.remove_all(ids, [chain_id])
