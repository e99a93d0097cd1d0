"""Pause and resume: stop claims of job types, and allow them again."""

from __future__ import annotations

from holdfast.engine.operations import Pause, Resume
from holdfast.stores.memory.state import State


def pause(state: State, op: Pause) -> None:
    state.paused.update(op.types)


def resume(state: State, op: Resume) -> None:
    state.paused.difference_update(op.types)
    state.hints.due.update(op.types)
