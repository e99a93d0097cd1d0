"""Compares the time of an answer with the time of the change: an answer comes after its change."""

from __future__ import annotations

from collections.abc import Iterable

from torture.audit import Change
from torture.checker.execution import TICK
from torture.history import Call


def by_then(call: Call, changes: Iterable[Change]) -> bool:
    """Whether one of these changes was written before the call returned."""
    return any(change.at <= _end(call) + TICK for change in changes)


def during(call: Call, changes: Iterable[Change]) -> bool:
    """Whether one of these changes was written during the call."""
    return any(call.begun - TICK <= change.at <= _end(call) + TICK for change in changes)


def _end(call: Call) -> int:
    assert call.ended is not None, "a call with an answer has ended"
    return call.ended
