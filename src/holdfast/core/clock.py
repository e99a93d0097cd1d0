"""Time inside Holdfast: whole microseconds since 1970, UTC.

Integers compare, store and travel exactly on every store. People see aware datetimes.
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
    """The machine's clock."""
    return time.time_ns() // 1000


def to_micros(moment: datetime) -> Micros:
    """An aware datetime as microseconds. A naive one is refused: nobody knows which hour it means."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; use an aware datetime, such as datetime.now(UTC)")
    return (moment - _EPOCH) // _MICROSECOND


def to_datetime(micros: Micros) -> datetime:
    """Microseconds as an aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def duration(seconds: float) -> Micros:
    """Seconds as microseconds."""
    return round(seconds * SECOND)
