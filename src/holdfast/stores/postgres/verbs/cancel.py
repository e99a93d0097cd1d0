"""Cancel chains."""

from __future__ import annotations

from holdfast.core.record import FINISHED, ChainRecord
from holdfast.engine.operations import CancelChains
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import chain_ends, chains
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.plan import Statement

_CANCEL = SQL["cancel"]


def cancel(context: PlanContext, op: CancelChains) -> Plan[list[ChainRecord]]:
    yield from context.begin()
    tails = yield from chains.lock_existing(context, op.chain_ids, endings=["failing"])
    unaffected = {*FINISHED, "running"} if op.spare_running else FINISHED
    ended = [tail for chain_id in dict.fromkeys(op.chain_ids) if (tail := tails[chain_id]).status not in unaffected]
    if ended:
        seqs = [tail.seq for tail in ended]
        for row in (yield Statement(_CANCEL, {"seqs": seqs, "reason": op.reason, "now": context.now})):
            context.record("cancelled", *row)
        context.hints.lost.update(tail.id for tail in ended if tail.status == "running")
        context.hints.finished.update(tail.chain_id for tail in ended)
        yield from chain_ends.fail_dependents(context, [tail.chain_id for tail in ended if tail.awaited])
        yield from announce_releases(context, SQL)
        yield from context.write_events()
        yield from write_audit(context, op.audit, "cancel", [(tail.chain_id, tail.chain_id) for tail in ended])
    return (yield from chains.read_existing(op.chain_ids))
