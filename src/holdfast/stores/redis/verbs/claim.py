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
    terms = [(each.type, encode.number(each.lease), encode.number(each.max_attempts)) for each in op.types]
    while len(claimed) < op.limit:
        size = min(BATCH_SIZE, op.limit - len(claimed))
        fresh = not (op.again and claimed)
        (reply,) = yield [ScriptCall("claim", (terms, size, op.worker, op.token, len(claimed), fresh))]
        records = list(existing(ReplyReader(reply)))
        claimed += records
        if len(records) < size:
            break
    return claimed
