"""Change how long finished chains are kept."""

from __future__ import annotations

from holdfast.engine.operations import Keep
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import chains
from holdfast.stores.sql.plan import Statement

_KEEP = SQL["keep"]
_EXPIRED = SQL["keep_expired"]


def keep(context: PlanContext, op: Keep) -> Plan[list[bool | None]]:
    yield from context.begin()
    tails = yield from chains.lock(context, list(dict.fromkeys(op.chain_ids)))
    seqs = [tail.seq for tail in tails.values()]
    expired = {seq for (seq,) in (yield Statement(_EXPIRED, {"seqs": seqs, "now": context.now}))}
    kept = {seq for (seq,) in (yield Statement(_KEEP, {"seqs": seqs, "keep": op.keep, "now": context.now}))}
    answers: list[bool | None] = []
    for chain_id in op.chain_ids:
        tail = tails.get(chain_id)
        missing = tail is None or tail.seq in expired
        answers.append(None if missing else tail is not None and tail.seq in kept)
        if tail is not None and tail.seq in kept and op.keep is not None and op.keep <= 0:
            # If the chain is named a second time, its keep time is already over.
            expired.add(tail.seq)
    return answers
