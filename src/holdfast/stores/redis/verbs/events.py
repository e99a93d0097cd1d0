"""Record and read live events."""

from __future__ import annotations

from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs import decode, encode
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan


def listen(op: ops.Listen) -> ScriptPlan[int]:
    (reply,) = yield [ScriptCall("listen", (op.listener, encode.number(op.lease)))]
    return int(reply)


def unlisten(op: ops.Unlisten) -> ScriptPlan[None]:
    yield [ScriptCall("unlisten", op.listener)]


def read_events(op: ops.ReadEvents) -> ScriptPlan[list[ops.EventRow]]:
    rows: list[ops.EventRow] = []
    while len(rows) < op.limit:
        after, size = rows[-1].seq if rows else op.after, min(BATCH_SIZE, op.limit - len(rows))
        (reply,) = yield [ScriptCall("read_events", (after, size))]
        values = iter(reply)
        rows += [decode.event_row(entry, facts) for entry, facts in zip(values, values, strict=True)]
        if len(reply) < size * 2:
            break
    return rows
