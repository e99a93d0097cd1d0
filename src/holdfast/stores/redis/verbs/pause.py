"""Pause and resume types."""

from __future__ import annotations

from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan


def pause(op: ops.Pause) -> ScriptPlan[None]:
    if op.types:
        yield [ScriptCall("pause", (op.types, author(op.audit)))]


def resume(op: ops.Resume) -> ScriptPlan[None]:
    if op.types:
        yield [ScriptCall("resume", (op.types, author(op.audit)))]
