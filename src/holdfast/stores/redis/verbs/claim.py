"""Claim jobs."""

from __future__ import annotations

from holdfast.core.record import Record
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan
from holdfast.stores.redis.verbs.script_errors import existing


def claim(op: ops.ClaimJobs) -> ScriptPlan[list[Record]]:
    claimed: list[Record] = []
    terms = [
        (each.type, encode.number(each.lease), encode.number(each.max_attempts), *((True,) if each.ahead else ()))
        for each in op.types
    ]
    ahead, total = {each.type for each in op.types if each.ahead}, op.limit + op.ahead
    while (left := total - len(claimed)) > 0:
        size, slots = min(BATCH_SIZE, left), max(op.limit - len(claimed), 0)
        fresh = not (op.again and claimed)
        had = op.had + len(claimed)
        (reply,) = yield [ScriptCall("claim", (terms, size, op.worker, op.token, had, fresh, slots))]
        records = list(existing(ReplyReader(reply)))
        claimed += records
        if len(records) < size:
            break
        if total > op.limit and any(each.type not in ahead for each in records):
            total = op.limit
    return claimed
