"""Operations that read the counters and the error groups."""

from __future__ import annotations

from typing import ClassVar

from holdfast.core.clock import Micros
from holdfast.core.counters import CounterReading
from holdfast.core.error_groups import GroupedErrors
from holdfast.engine.operations.operation import Operation


class GetCounters(Operation[CounterReading], frozen=True):
    """The counters per type and minute, from one consistent snapshot, and the totals since the store was created.

    `since`: from this time on. `last`: the minutes up to now, by the clock of the store. Minutes are kept for 24 hours.
    Totals never decrease. Each change is counted in the transaction that makes it, and once.
    """

    verb: ClassVar = "get_counters"
    writes: ClassVar = False
    since: Micros | None = None
    last: Micros | None = None


class GetErrors(Operation[list[GroupedErrors]], frozen=True):
    """The error groups with the most failures, at most `limit`.

    Without `since` and `last`, all failures since the first of each group count; otherwise those of these minutes.
    A failure is a job that failed permanently, or an attempt that failed or lost its lease and is followed by another.
    """

    verb: ClassVar = "get_errors"
    writes: ClassVar = False
    types: tuple[str, ...] = ()
    since: Micros | None = None
    last: Micros | None = None
    limit: int = 50
