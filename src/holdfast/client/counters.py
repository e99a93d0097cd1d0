"""Read the counters, and the most frequent errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.references import Names, type_names
from holdfast.core.clock import Micros, to_datetime, to_micros
from holdfast.core.counter_report import Counters, FrequentError, MinuteCounts, TypeCounters
from holdfast.core.counters import KEPT_MINUTES, MINUTE, CounterReading, Counts, combined, first_minute
from holdfast.core.error_groups import GroupedErrors, read_summary
from holdfast.engine.operations import GetCounters, GetErrors
from holdfast.engine.procedures import Procedure

_HOUR = 60 * MINUTE


class CounterMethods(Capability):
    """Counters and errors, async."""

    async def counters(self, since: datetime | None = None, type: Names | None = None, *, tx: Any = None) -> Counters:
        """What happened to jobs per type and minute since a time of the last 24 hours; by default in the last hour.

        The numbers are exact: each change is counted in the transaction that makes it. `total` of a type never
        decreases.
        """
        return await self._run(_counters(since, type), tx)

    async def errors(
        self, since: datetime | None = None, type: Names | None = None, limit: int = 50, *, tx: Any = None
    ) -> list[FrequentError]:
        """The most frequent errors: failures grouped by type, exception class, message and place in the code.

        With `since`, a time of the last 24 hours, failures from then on count. Without it, all failures since the first
        of each group count. A group is deleted seven days after its last failure.
        """
        return await self._run(_errors(since, type, limit), tx)


class SyncCounterMethods(SyncCapability):
    """Counters and errors, blocking."""

    def counters(self, since: datetime | None = None, type: Names | None = None, *, tx: Any = None) -> Counters:
        """What happened to jobs per type and minute since a time of the last 24 hours; by default in the last hour.

        The numbers are exact: each change is counted in the transaction that makes it. `total` of a type never
        decreases.
        """
        return self._run(_counters(since, type), tx)

    def errors(
        self, since: datetime | None = None, type: Names | None = None, limit: int = 50, *, tx: Any = None
    ) -> list[FrequentError]:
        """The most frequent errors: failures grouped by type, exception class, message and place in the code.

        With `since`, a time of the last 24 hours, failures from then on count. Without it, all failures since the first
        of each group count. A group is deleted seven days after its last failure.
        """
        return self._run(_errors(since, type, limit), tx)


def _counters(since: datetime | None, type: Names | None) -> Procedure[Counters]:
    moment = None if since is None else to_micros(since)
    wanted = type_names(type)
    last = _HOUR if moment is None else None
    reading: CounterReading = yield GetCounters(since=moment, last=last)
    _check_kept(moment, reading.now)
    first = first_minute(reading.now, since=moment, last=last)
    minutes: dict[str, dict[int, Counts]] = {
        name: {} for name in sorted(reading.totals) if not wanted or name in wanted
    }
    for (name, minute), counts in reading.minutes.items():
        if name in minutes:
            minutes[name][minute] = counts
    types = {name: _type(name, found, reading.totals[name]) for name, found in minutes.items()}
    return Counters(to_datetime(first * MINUTE), to_datetime(reading.now), types)


def _type(name: str, minutes: Mapping[int, Counts], total: Counts) -> TypeCounters:
    listed = [MinuteCounts(to_datetime(minute * MINUTE), minutes[minute]) for minute in sorted(minutes)]
    return TypeCounters(name, combined(minutes.values()), listed, total)


def _errors(since: datetime | None, type: Names | None, limit: int) -> Procedure[list[FrequentError]]:
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    types, moment = type_names(type), None if since is None else to_micros(since)
    if moment is not None:
        reading: CounterReading = yield GetCounters(last=0)
        _check_kept(moment, reading.now)
    found: list[GroupedErrors] = yield GetErrors(types, since=moment, limit=limit)
    return [_error(each) for each in found]


def _error(grouped: GroupedErrors) -> FrequentError:
    group, failed, retried, minutes = grouped
    summary = read_summary(group.summary)
    return FrequentError(
        fingerprint=group.fingerprint,
        type=group.type,
        exception=summary.exception,
        message=summary.message,
        frame=summary.frame,
        failed=failed,
        retried=retried,
        first=to_datetime(group.first_at),
        last=to_datetime(group.last_at),
        example=group.example,
        minutes=[(to_datetime(minute * MINUTE), count) for minute, count in minutes],
    )


def _check_kept(since: Micros | None, now: Micros) -> None:
    # A minute more: the clock of the caller may differ from that of the store.
    if since is not None and now - since > (KEPT_MINUTES + 1) * MINUTE:
        given = to_datetime(since).isoformat()
        raise ValueError(f"since is {given}, but numbers per minute are kept for the last 24 hours only")
