"""Pause and resume: stop claims of job types, and allow them again."""

from __future__ import annotations

from holdfast.engine.operations import Pause, Resume
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit


def pause(state: State, op: Pause) -> None:
    changed = [type for type in dict.fromkeys(op.types) if type not in state.paused]
    write_audit(state, op.audit, "pause", [(type, None) for type in changed])
    state.paused.update(op.types)


def resume(state: State, op: Resume) -> None:
    changed = [type for type in dict.fromkeys(op.types) if type in state.paused]
    write_audit(state, op.audit, "resume", [(type, None) for type in changed])
    state.paused.difference_update(op.types)
    state.hints.due.update(op.types)
