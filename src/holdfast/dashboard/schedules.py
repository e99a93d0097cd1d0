"""The schedules that a viewer may see, and the history of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile

from holdfast.core.clock import to_datetime, to_micros
from holdfast.core.job import Chain
from holdfast.core.schedule import ID_PREFIX, Rule, Schedule, tick_id, tick_of
from holdfast.dashboard.view import View
from holdfast.engine.operations import GetChains

SHOWN = 20
_JOBS_READ = 200
_LONGEST = timedelta(days=800)


@dataclass(frozen=True, slots=True)
class PastTick:
    """A tick and its chain. None: the tick was skipped or missed, its chain is deleted, or its rule was changed."""

    at: datetime
    chain: Chain[object] | None
    fired: bool = False


async def visible_schedules(view: View) -> list[Schedule]:
    """The schedules that start chains of types which the viewer may see."""
    found = await view.viewer.read(view.settings.client.schedules())
    return [schedule for schedule in found if view.access.sees(schedule.type)]


async def find_schedule(view: View, name: str) -> Schedule | None:
    return next((schedule for schedule in await visible_schedules(view) if schedule.name == name), None)


async def history(view: View, schedule: Schedule, now: datetime) -> list[PastTick]:
    """The last ticks, newest first: those of the rule, those of backfills, and calls of `fire`."""
    client = view.settings.client
    prefix = f"{ID_PREFIX}{schedule.name}:"
    # At most as many ticks as the schedule has had: earlier ticks are older than the schedule.
    counts = schedule.counts
    known = past_ticks(schedule, now)[: counts.started + counts.skipped + counts.missed]
    moments = {tick_id(schedule.name, to_micros(tick)): tick for tick in known}
    # An index finds jobs by their type, but not chains by the type of their first job.
    recent = await view.viewer.read(client.list_jobs(type=schedule.type, limit=_JOBS_READ))
    for job in recent.items:
        if job.id.startswith(prefix) and (at := tick_of(job.id)) is not None:
            moments.setdefault(job.id, at)
    ids = sorted(moments, key=lambda id: moments[id], reverse=True)[:SHOWN]
    records = await view.viewer.read(client.store.perform(GetChains(tuple(ids))))
    newest = [
        PastTick(
            moments[id], None if record is None else Chain(record, client.jobs), fired=id.startswith(f"{prefix}fire:")
        )
        for id, record in zip(ids, records, strict=True)
    ]
    return [tick for tick in newest if tick.chain is None or view.access.sees(tick.chain.job.type)]


def past_ticks(schedule: Schedule, now: datetime) -> list[datetime]:
    """The last ticks of the rule before now, newest first. A rule finds ticks forwards only, so the period grows."""
    if schedule.every is not None:
        last = schedule.next_at
        while last > now:
            last -= schedule.every
        return [last - count * schedule.every for count in range(SHOWN)]
    rule, until = Rule(schedule.cron, None, schedule.tz), to_micros(now)
    length = timedelta(hours=1)
    while True:
        begin = to_micros(now - length)
        ticks = list(islice(takewhile(lambda tick: tick <= until, rule.ticks(begin, origin=begin)), 10_000))
        if len(ticks) >= SHOWN or length > _LONGEST:
            return [to_datetime(tick) for tick in reversed(ticks[-SHOWN:])]
        length *= 4
