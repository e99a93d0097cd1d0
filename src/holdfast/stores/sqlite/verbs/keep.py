"""Keep: change how long finished chains are kept."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.engine.operations import Keep
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL

_CURRENT = SQL["keep_current"]
_KEEP = SQL["keep"]


def keep(context: PlanContext, operation: Keep) -> Plan[list[bool | None]]:
    answers: list[bool | None] = []
    for chain_id in operation.chain_ids:
        answer = yield from _keep(context, chain_id, operation.keep)
        answers.append(answer)
    return answers


def _keep(context: PlanContext, chain_id: str, keep: Micros | None) -> Plan[bool | None]:
    rows = yield Statement(_CURRENT, {"chain_id": chain_id})
    for seq, finished_at, kept_until in rows:
        if kept_until is not None and kept_until <= context.now:
            return None
        if finished_at is None:
            return False
        yield Statement(_KEEP, {"seq": seq, "keep": None if keep is None else context.now - finished_at + keep})
        return True
    return None
