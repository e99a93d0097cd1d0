"""Schedules: create, list, fire, pause, backfill and remove them."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any

from holdfast.client import client_calls, schedule_changes
from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.client_calls import ClientCalls
from holdfast.core.clock import to_datetime
from holdfast.core.job import Chain
from holdfast.core.retry import Seconds
from holdfast.core.schedule import WITHIN, Missed, Overlap, Schedule, micros_of, read, shown
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers
from holdfast.engine.operations import FoundSchedules, GetSchedules
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Bound
from holdfast.registry.options import check_text
from holdfast.registry.schedules import DeclaredSchedule, check_schedule_name, checked_schedule


class ScheduleMethods(Capability):
    """Schedules, async."""

    async def schedule(
        self,
        name: str,
        bound: Bound[Any],
        *,
        cron: str | None = None,
        every: Seconds | None = None,
        tz: str | tzinfo | None = None,
        overlap: Overlap = "skip",
        missed: Missed = "latest",
        within: Seconds = WITHIN,
        jitter: Seconds = 0,
        tx: Any = None,
    ) -> Schedule:
        """Create a schedule, or change the one with this name. The parameters are those of `Jobs.schedule`."""
        declared = checked_schedule(
            name, bound, cron=cron, every=every, tz=tz, overlap=overlap, missed=missed, within=within, jitter=jitter
        )
        return await self._run(_put(declared), tx)

    async def schedules(self, *, tx: Any = None) -> list[Schedule]:
        """All schedules of the store, sorted by name."""
        return await self._run(_list(), tx)

    async def unschedule(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> None:
        """Remove a schedule. Its chains stay. ValueError if a registry declares it: then it can only be paused."""
        await self._run(schedule_changes.remove(_name(schedule), self._calls.audit(reason)), tx)

    async def fire(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> Chain[Any]:
        """Start a chain of a schedule now, even if the schedule is paused or its last chain has not ended."""
        return await self._run(_fire(self._calls, _name(schedule), reason), tx, _created)

    async def pause_schedule(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> Schedule:
        """Skip the ticks of a schedule until it is resumed."""
        return await self._run(_pause(self._calls, _name(schedule), reason), tx)

    async def resume_schedule(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> Schedule:
        """End the pause of a schedule. Ticks that came meanwhile start no chain."""
        return await self._run(_resume(self._calls, _name(schedule), reason), tx)

    async def backfill(
        self,
        schedule: Schedule | str,
        *,
        since: datetime,
        until: datetime,
        reason: str | None = None,
        tx: Any = None,
    ) -> list[Chain[Any]]:
        """Start the missing chains of the ticks with since <= tick < until. Returns the chains that were started."""
        call = _backfill(self._calls, _name(schedule), since, until, reason)
        return await self._run(call, tx, client_calls.created)


class SyncScheduleMethods(SyncCapability):
    """Schedules, blocking."""

    def schedule(
        self,
        name: str,
        bound: Bound[Any],
        *,
        cron: str | None = None,
        every: Seconds | None = None,
        tz: str | tzinfo | None = None,
        overlap: Overlap = "skip",
        missed: Missed = "latest",
        within: Seconds = WITHIN,
        jitter: Seconds = 0,
        tx: Any = None,
    ) -> Schedule:
        """Create a schedule, or change the one with this name. The parameters are those of `Jobs.schedule`."""
        declared = checked_schedule(
            name, bound, cron=cron, every=every, tz=tz, overlap=overlap, missed=missed, within=within, jitter=jitter
        )
        return self._run(_put(declared), tx)

    def schedules(self, *, tx: Any = None) -> list[Schedule]:
        """All schedules of the store, sorted by name."""
        return self._run(_list(), tx)

    def unschedule(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> None:
        """Remove a schedule. Its chains stay. ValueError if a registry declares it: then it can only be paused."""
        self._run(schedule_changes.remove(_name(schedule), self._calls.audit(reason)), tx)

    def fire(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> Chain[Any]:
        """Start a chain of a schedule now, even if the schedule is paused or its last chain has not ended."""
        return self._run(_fire(self._calls, _name(schedule), reason), tx, _created)

    def pause_schedule(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> Schedule:
        """Skip the ticks of a schedule until it is resumed."""
        return self._run(_pause(self._calls, _name(schedule), reason), tx)

    def resume_schedule(self, schedule: Schedule | str, *, reason: str | None = None, tx: Any = None) -> Schedule:
        """End the pause of a schedule. Ticks that came meanwhile start no chain."""
        return self._run(_resume(self._calls, _name(schedule), reason), tx)

    def backfill(
        self,
        schedule: Schedule | str,
        *,
        since: datetime,
        until: datetime,
        reason: str | None = None,
        tx: Any = None,
    ) -> list[Chain[Any]]:
        """Start the missing chains of the ticks with since <= tick < until. Returns the chains that were started."""
        return self._run(_backfill(self._calls, _name(schedule), since, until, reason), tx, client_calls.created)


def _name(schedule: Schedule | str) -> str:
    return schedule.name if isinstance(schedule, Schedule) else check_schedule_name(schedule)


def _put(declared: DeclaredSchedule) -> Procedure[Schedule]:
    return shown((yield from schedule_changes.put(declared)))


def _list() -> Procedure[list[Schedule]]:
    found: FoundSchedules = yield GetSchedules()
    return [shown(read(stored.body)) for stored in found.schedules]


def _fire(calls: ClientCalls, name: str, reason: str | None) -> Procedure[Chain[Any]]:
    started = yield from schedule_changes.fire(name, calls.audit(reason))
    return calls.chain(started.chain)


def _created(observers: Observers, chain: Chain[Any]) -> list[Event]:
    return client_calls.created(observers, [chain])


def _pause(calls: ClientCalls, name: str, reason: str | None) -> Procedure[Schedule]:
    check_text("reason", reason)
    return shown((yield from schedule_changes.pause(name, reason, calls.audit(reason))))


def _resume(calls: ClientCalls, name: str, reason: str | None) -> Procedure[Schedule]:
    return shown((yield from schedule_changes.resume(name, calls.audit(reason))))


def _backfill(
    calls: ClientCalls, name: str, since: datetime, until: datetime, reason: str | None
) -> Procedure[list[Chain[Any]]]:
    begin, end = micros_of("since", since), micros_of("until", until)
    period = f"{to_datetime(begin):%Y-%m-%dT%H:%M:%SZ} to {to_datetime(end):%Y-%m-%dT%H:%M:%SZ}"
    audit = calls.audit(period + (f": {reason}" if reason else ""))
    started = yield from schedule_changes.backfill(name, begin, end, audit)
    return [calls.chain(each.chain) for each in started]
