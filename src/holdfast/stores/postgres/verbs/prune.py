"""Delete finished chains past their keep time, and old keys, counts and marks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from holdfast.core.lifecycle import CLEARED_INPUT
from holdfast.engine.operations import Prune
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import counters, locks
from holdfast.stores.postgres.verbs.audit import prune_audit
from holdfast.stores.postgres.verbs.delete import chain_jobs, dependents, remove
from holdfast.stores.sql.plan import Statement
from holdfast.stores.sql.prune_batches import prune_batches

_EXPIRED = SQL["prune_expired"]
_CLEAR = SQL["prune_clear"]
_PRUNE_KEYS = SQL["prune_keys"]
_PRUNE_MARKS = SQL["prune_marks"]


def prune(context: PlanContext, op: Prune) -> Plan[list[str]]:
    yield from context.begin()
    pruned = yield from prune_batches(partial(_prune_batch, context), op.limit)
    yield Statement(_PRUNE_KEYS, {"now": context.now})
    yield from counters.add_up(context)
    yield Statement(_PRUNE_MARKS)
    yield from prune_audit(context)
    return pruned


def _prune_batch(context: PlanContext, limit: int) -> Plan[tuple[list[str], bool]]:
    """Delete or clear expired chains. Returns those that were deleted, and whether some were cleared."""
    expired = [chain_id for (chain_id,) in (yield Statement(_EXPIRED, {"now": context.now, "limit": limit}))]
    if not expired:
        return [], False
    expired, seqs = yield from _lock_free(expired)
    clear = Statement(_CLEAR, {"seqs": seqs, "now": context.now, "input": CLEARED_INPUT})
    cleared: dict[int, str] = dict((yield clear))
    if cleared:
        kept = set(cleared.values())
        expired = [chain_id for chain_id in expired if chain_id not in kept]
        seqs = [seq for seq in seqs if seq not in cleared]
    yield from remove(context, expired, seqs)
    return expired, bool(cleared)


def _lock_free(chain_ids: Sequence[str]) -> Plan[tuple[list[str], list[int]]]:
    """Lock those of these chains that no unfinished job names and no other transaction locks, and return them."""
    jobs = yield from chain_jobs(chain_ids)
    naming = yield from dependents(chain_ids)
    finished = {job.seq for found in naming.values() for job in found if job.finished}
    locked = yield from locks.lock_free({*jobs, *finished})
    # Read again: a finished job may have been retried before it was locked.
    naming = yield from dependents(chain_ids)
    busy = {chain_id for seq, chain_id in jobs.items() if seq not in locked}
    for chain_id, found in naming.items():
        if any(job.chain_id != chain_id and not (job.finished and job.seq in locked) for job in found):
            busy.add(chain_id)
    seqs = sorted(seq for seq, chain_id in jobs.items() if chain_id not in busy)
    return [chain_id for chain_id in chain_ids if chain_id not in busy], seqs
