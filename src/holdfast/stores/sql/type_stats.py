"""The stats of a type from the numbers that a SQL store has: pending jobs are those that have no other status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from holdfast.core.clock import Micros
from holdfast.core.record import Status
from holdfast.engine.operations import TypeStats

ALL: Final = "all"
"""The jobs of the type that exist."""
REMOVED: Final = "removed"
"""Completed jobs that were deleted. `completed` counts those that were ever completed."""
SCHEDULED: Final = "scheduled"
"""Pending jobs that are not due yet."""
PAUSED: Final = "paused"
_COUNTED: Final = (Status.RUNNING, Status.BLOCKED, Status.FAILED, Status.CANCELLED)
"""Statuses whose jobs the store counts one by one."""


def type_stats(rows: Iterable[tuple[str, str, int, Micros | None]]) -> list[TypeStats]:
    """Rows have a type, what they count, a number and, if they count scheduled jobs, the oldest due time.

    Several rows of a type may count the same. Types that have no jobs are left out, unless they are paused.
    """
    numbers: dict[str, Counter[str]] = {}
    oldest: dict[str, Micros] = {}
    for type, kind, number, due in rows:
        numbers.setdefault(type, Counter())[kind] += number
        if due is not None:
            oldest[type] = min(due, oldest.get(type, due))
    return [
        _of_type(type, each, oldest.get(type)) for type, each in sorted(numbers.items()) if each[ALL] or each[PAUSED]
    ]


def _of_type(type: str, numbers: Counter[str], oldest_due: Micros | None) -> TypeStats:
    completed = numbers[Status.COMPLETED] - numbers[REMOVED]
    counts = {status: numbers[status] for status in _COUNTED}
    counts[Status.COMPLETED] = completed
    counts[Status.PENDING] = pending = numbers[ALL] - sum(counts.values())
    scheduled = numbers[SCHEDULED]
    present = {status: number for status, number in counts.items() if number}
    return TypeStats(type, present, pending - scheduled, scheduled, oldest_due, bool(numbers[PAUSED]))
