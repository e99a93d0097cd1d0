"""Prune finished chains past their keep time."""

from __future__ import annotations

from holdfast.core.lifecycle import CLEARED_INPUT
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan


def prune(op: ops.Prune) -> ScriptPlan[list[str]]:
    """Chains with unfinished dependents are skipped, and checked again at the next prune."""
    pruned: list[str] = []
    skipped = 0
    while len(pruned) < op.limit:
        limit = min(BATCH_SIZE, op.limit - len(pruned))
        ((kept, end, *chains),) = yield [ScriptCall("prune", (limit, skipped), payloads=[CLEARED_INPUT])]
        pruned += [chain.decode() for chain in chains]
        skipped += int(kept)
        if end:
            break
    return pruned
