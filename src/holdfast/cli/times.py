"""Durations and times in arguments and output."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from holdfast.cli.exit_codes import Mistake

_UNITS = {"ms": 0.001, "": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m|h|d|w|)")


def duration(text: str) -> float:
    """Seconds, from `90`, `250ms`, `30s`, `5m`, `2h`, `7d` or `1w`."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise Mistake(f"{text!r} is no duration; write seconds, or a number with ms, s, m, h, d or w, such as 30s")
    return float(match[1]) * _UNITS[match[2]]


def positive_duration(text: str, option: str) -> float:
    """Like `duration`, and greater than 0."""
    if (seconds := duration(text)) > 0:
        return seconds
    raise Mistake(f"{option} must be more than 0")


def optional_duration(text: str | None) -> float | None:
    """Like `duration`; None if the option was not given."""
    return None if text is None else duration(text)


def instant(text: str | None) -> datetime | None:
    """A point in time, from `2026-01-31T12:00:00Z` or `2026-01-31`: in local time unless it has a zone."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise Mistake(f"{text!r} is no time; write 2026-01-31T12:00:00Z or 2026-01-31") from None


def zoned(text: str | None, option: str) -> datetime | None:
    """Like `instant`, but the time zone is required: a guessed zone could be wrong by hours."""
    moment = instant(text)
    if text is not None and datetime.fromisoformat(text.strip()).tzinfo is None:
        raise Mistake(f"{option} {text!r} has no time zone; write 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+02:00")
    return moment


def since(text: str | None, *, now: datetime | None = None) -> datetime | None:
    """A point in time, or `2h` for two hours ago."""
    if text is not None and _DURATION.fullmatch(text.strip().lower()):
        return (now or datetime.now(UTC)) - timedelta(seconds=duration(text))
    try:
        return instant(text)
    except Mistake as mistake:
        raise Mistake(f"{mistake}, or 2h for two hours ago") from None


def lasting(seconds: float) -> str:
    """A duration in at most two units: `85ms`, `4.2s`, `3m20s`, `2d3h`."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))}ms"
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    for unit, size, smaller, below in (("m", 60, "s", 1), ("h", 3600, "m", 60), ("d", 86400, "h", 3600)):
        if whole < size * (24 if unit == "h" else 60) or unit == "d":
            rest = whole % size // below
            return f"{whole // size}{unit}{rest}{smaller}" if rest else f"{whole // size}{unit}"
    raise AssertionError("days have no end")


def relative(moment: datetime | None, now: datetime) -> str:
    """A time relative to now: `4.2s ago`, `in 3m`; a dash for None."""
    if moment is None:
        return "-"
    seconds = (now - moment).total_seconds()
    return f"{lasting(seconds)} ago" if seconds >= 0 else f"in {lasting(-seconds)}"


def iso(moment: datetime | None) -> str | None:
    """A time in ISO 8601."""
    return None if moment is None else moment.isoformat()
