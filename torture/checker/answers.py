"""What a caller was told against when it happened: an answer comes after the deed."""

from __future__ import annotations

from collections.abc import Iterable

from torture.audit import Change
from torture.checker.execution import TICK
from torture.history import Call


def by_then(call: Call, changes: Iterable[Change]) -> bool:
    """Whether one of these had been written when the call was answered."""
    return any(change.at <= _end(call) + TICK for change in changes)


def during(call: Call, changes: Iterable[Change]) -> bool:
    """Whether one of these was written while the call was under way."""
    return any(call.begun - TICK <= change.at <= _end(call) + TICK for change in changes)


def _end(call: Call) -> int:
    assert call.ended is not None, "a call that was answered has ended"
    return call.ended
