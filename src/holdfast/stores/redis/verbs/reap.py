"""Reap jobs whose lease ended."""

from __future__ import annotations

from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.decode import ReplyReader
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan


def reap(op: ops.Reap) -> ScriptPlan[list[ops.Reaped]]:
    """Also continues releases of dependents that another process began and did not finish."""
    reaped: list[ops.Reaped] = []
    while len(reaped) < op.limit:
        size = min(BATCH_SIZE, op.limit - len(reaped))
        (reply,) = yield [ScriptCall("reap", (op.types, op.held, size))]
        reader = ReplyReader(reply)
        more = reader.next() == b"more"
        before = len(reaped)
        for worker in reader:
            record = reader.job()
            assert record is not None, "reaping removes nothing"
            reaped.append(ops.Reaped(record, worker.decode() or None))
        if more:
            yield from release()
        if len(reaped) - before < size:
            break
    return reaped
