"""Statistics per type, waiting chains, and the next due time."""

from __future__ import annotations

from holdfast.engine import operations as ops
from holdfast.engine.operations import TypeStats
from holdfast.stores.redis.verbs import decode
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, ScriptCall, ScriptPlan


def get_stats(op: ops.GetStats) -> ScriptPlan[list[TypeStats]]:
    (reply,) = yield [ScriptCall("get_stats")]
    stats: list[TypeStats] = []
    for type, due, scheduled, oldest, paused, counts in reply:
        values = iter(counts)
        by_status = {decode.STATUSES[letter.decode()]: int(n) for letter, n in zip(values, values, strict=True)}
        first = None if oldest is None else int(oldest)
        stats.append(TypeStats(type.decode(), by_status, int(due), int(scheduled), first, bool(paused)))
    return sorted(stats)


def get_waiting(op: ops.GetWaiting) -> ScriptPlan[list[ops.Waiting]]:
    waiting: list[ops.Waiting] = []
    last = 0
    while len(waiting) < op.limit:
        (rows,) = yield [ScriptCall("get_waiting", (last, min(BATCH_SIZE, op.limit - len(waiting))))]
        if not rows:
            break
        for number, chain_id, *after in rows:
            waiting.append(ops.Waiting(chain_id.decode(), tuple(each.decode() for each in after)))
            last = int(number)
    return waiting


def next_due(op: ops.NextDue) -> ScriptPlan[int | None]:
    (reply,) = yield [ScriptCall("next_due", op.types)]
    return None if reply is None else int(reply)
