"""Examine: what the operator should know about this store."""

from __future__ import annotations

from holdfast.engine.operations import Examine, Finding
from holdfast.stores.memory.state import State


def examine(state: State, op: Examine) -> list[Finding]:
    return [Finding("warning", "durability", "everything is lost when this process ends")]
