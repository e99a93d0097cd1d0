"""Change how long finished chains are kept."""

from __future__ import annotations

from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan, batches

_KEPT = {b"kept": True, b"unfinished": False, b"none": None}


def keep(op: ops.Keep) -> ScriptPlan[list[bool | None]]:
    kept: list[bool | None] = []
    for ids in batches(op.chain_ids):
        (reply,) = yield [ScriptCall("keep", (ids, encode.number(op.keep)), ids)]
        kept += [_KEPT[result] for result in reply]
    return kept
