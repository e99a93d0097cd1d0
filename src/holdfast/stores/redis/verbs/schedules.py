"""Schedules: read them, and change one together with the start of its chains."""

from __future__ import annotations

from typing import Any

from holdfast.core.ids import new_token
from holdfast.engine import operations as ops
from holdfast.engine.operations import SCHEDULES_CHANGED, FoundSchedules, Started, StoredSchedule
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.encode import Payloads
from holdfast.stores.redis.verbs.release_dependents import release
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan
from holdfast.stores.redis.verbs.start import started_chains


def get_schedules(op: ops.GetSchedules) -> ScriptPlan[FoundSchedules]:
    names = False if op.names is None else sorted(set(op.names))
    (reply,) = yield [ScriptCall("get_schedules", names)]
    return FoundSchedules(int(reply[0]), _schedules(reply[1:]))


def due_schedules(op: ops.DueSchedules) -> ScriptPlan[FoundSchedules]:
    (reply,) = yield [ScriptCall("due_schedules", (op.types, op.limit))]
    return FoundSchedules(int(reply[0]), _schedules(reply[2:]), None if reply[1] is None else int(reply[1]))


def change_schedule(op: ops.ChangeSchedule) -> ScriptPlan[list[Started] | None]:
    payloads, request = Payloads(), new_token()
    body = payloads.add(op.body)
    starts = [encode.new_job(job, payloads, by=request) for job in op.starts]
    values = (
        op.name,
        op.expected or False,
        op.version,
        op.type,
        body,
        encode.number(op.ticks_at),
        starts,
        op.announce and SCHEDULES_CHANGED,
        op.action,
        author(op.audit),
    )
    (reply,) = yield [ScriptCall("change_schedule", values, [job.id for job in op.starts], payloads, request)]
    if reply[0] == b"changed":
        return None
    started, more = started_chains(op.starts, reply)
    if more:
        yield from release()
    return started


def _schedules(values: list[Any]) -> list[StoredSchedule]:
    rows = zip(values[::3], values[1::3], values[2::3], strict=True)
    return [StoredSchedule(name.decode(), version.decode(), body) for name, version, body in rows]
