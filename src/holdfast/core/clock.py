"""Internal times: whole microseconds since 1970, UTC.

Every store keeps and compares integers exactly. The public interface shows aware datetimes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Micros = int
Clock = Callable[[], Micros]

SECOND: Micros = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> Micros:
    """The clock of the operating system."""
    return time.time_ns() // 1000


def to_micros(moment: datetime) -> Micros:
    """An aware datetime as microseconds. A naive one is refused: its time zone is unknown."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; use an aware datetime, such as datetime.now(UTC)")
    return (moment - _EPOCH) // _MICROSECOND


def to_datetime(micros: Micros) -> datetime:
    """Microseconds as an aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def duration(seconds: float) -> Micros:
    """Seconds as microseconds."""
    return round(seconds * SECOND)
