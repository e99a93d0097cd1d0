"""Cron expressions in a time zone: the instants at which an expression fires. Pure: no clock, no I/O.

`cronsim` reads the five fields and lists matching wall-clock times, without a time zone. This module maps these times
to instants. There are two kinds of expressions:

- Fixed times, without a wildcard or a step in minute and hour. A time that the clock skips in spring fires once, at the
  end of the gap. A time that the clock repeats in autumn fires once, at its first occurrence.
- Expressions with a wildcard or a step in minute or hour follow the wall clock. They do not fire in a gap, and fire in
  both occurrences of a repeated time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from holdfast.core.clock import Micros, to_datetime, to_micros

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
RANGES: Final = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day": "1 to 31, or L for the last day",
    "month": "1 to 12, or JAN to DEC",
    "weekday": "0 to 7 (0 and 7 are Sunday), or MON to SUN",
}
"""The fields of an expression, in their order, and the values of each."""
LONGEST_SHIFT: Final = timedelta(hours=3)
"""Clock changes are at most this long. The longest current one is an hour."""


def fields(expression: str) -> str:
    """The five fields of an expression, or of a name such as @daily. ValueError if it cannot be used."""
    text = " ".join(expression.split())
    if text.startswith("@"):
        if text.lower() == "@reboot":
            raise ValueError("@reboot is no time: run such code when the application starts")
        if text.lower() not in NAMED:
            raise ValueError(f"cron has no name {text!r:.60}; it has {', '.join(NAMED)}")
        return NAMED[text.lower()]
    count = len(text.split(" ")) if text else 0
    if count != 5:
        hint = ": seconds are not supported; for short periods give every=" if count == 6 else ""
        raise ValueError(
            f"a cron expression has five fields, minute hour day month weekday, and {text!r:.60} has {count}{hint}"
        )
    return text


def check_cron(expression: str, zone: ZoneInfo) -> None:
    """ValueError with the reason if an expression is invalid or never fires."""
    from cronsim import CronSim, CronSimError

    text = fields(expression)
    try:
        next(CronSim(text, to_datetime(0).replace(tzinfo=None)))
    except CronSimError as error:
        raise ValueError(f"cron expression {expression!r:.60}: {_wrong_field(text) or error}") from None
    except StopIteration:
        raise ValueError(f"cron expression {expression!r:.60} never fires: no date matches it") from None
    next(instants(expression, zone, 0))


def _wrong_field(text: str) -> str | None:
    """Which field is invalid, its value, and the values that it may have. None if each field alone is valid."""
    from cronsim import CronSim, CronSimError

    for place, (name, value) in enumerate(zip(RANGES, text.split(" "), strict=True)):
        alone = ["*"] * len(RANGES)
        alone[place] = value
        try:
            CronSim(" ".join(alone), to_datetime(0).replace(tzinfo=None))
        except CronSimError:
            forms = "lists (1,2), ranges (1-5) and steps (*/2)"
            return f"the {name} {value!r:.40} is invalid: use {RANGES[name]}, also in {forms}"
    return None


@lru_cache(maxsize=64)
def zone_of(name: str) -> ZoneInfo:
    """The time zone with this name. ValueError if there is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"there is no time zone {name!r:.60}; use a name such as Europe/Paris. If this name is correct, the system "
            "has no time zone data: install the package tzdata"
        ) from None


def instants(expression: str, zone: ZoneInfo, after: Micros) -> Iterator[Micros]:
    """The instants later than `after` at which the expression fires, in order."""
    text = fields(expression)
    minute, hour, *_ = text.split(" ")
    follows = _instants_of_wall_clock if _has_wildcard(minute) or _has_wildcard(hour) else _instants_of_fixed_times
    previous = after
    for instant in follows(text, zone, after):
        if instant > previous:
            previous = instant
            yield instant


def _has_wildcard(field: str) -> bool:
    return "*" in field or "/" in field


def _instants_of_fixed_times(text: str, zone: ZoneInfo, after: Micros) -> Iterator[Micros]:
    for wall in _wall_times(text, _wall(zone, to_datetime(after))):
        first = _instant(wall, zone)
        yield to_micros(first if _wall(zone, first) == wall else _end_of_gap(wall, zone))


def _instants_of_wall_clock(text: str, zone: ZoneInfo, after: Micros) -> Iterator[Micros]:
    """Second occurrences wait in a heap until every first occurrence before them was returned."""
    start = to_datetime(after)
    # Shortly after a repeated hour began, wall times before the current one occur again.
    near = [start - LONGEST_SHIFT, start, start + LONGEST_SHIFT]
    shifted = len({moment.astimezone(zone).utcoffset() for moment in near}) > 1
    repeated: list[Micros] = []
    for wall in _wall_times(text, _wall(zone, start) - (LONGEST_SHIFT if shifted else timedelta())):
        first, second = _instant(wall, zone), _instant(wall.replace(fold=1), zone)
        if _wall(zone, first) != wall:
            continue
        while repeated and repeated[0] <= to_micros(first):
            yield heappop(repeated)
        yield to_micros(first)
        if second > first:
            heappush(repeated, to_micros(second))


def _wall_times(text: str, after: datetime) -> Iterator[datetime]:
    """The wall-clock times later than `after` that match the fields, without a time zone."""
    from cronsim import CronSim

    return CronSim(text, after.replace(microsecond=0))


def _wall(zone: ZoneInfo, moment: datetime) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    return wall.replace(tzinfo=zone).astimezone(UTC)


def _end_of_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which the gap ends that contains a wall time."""
    # With fold=1 the offset after the gap applies, which gives an instant before it; with fold=0 one after it.
    before, later = _instant(wall.replace(fold=1), zone), _instant(wall, zone)
    offset = before.astimezone(zone).utcoffset()
    while later - before > timedelta(seconds=1):
        middle = before + (later - before) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            later = middle
    return later.replace(microsecond=0)
