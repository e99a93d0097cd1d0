"""Schedules as stores keep them, and the times of their ticks. Pure: no clock, no I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, count, islice
from typing import Final, Literal, NamedTuple

import msgspec

from holdfast.core.blocker_rules import WHEN_ENDED
from holdfast.core.clock import SECOND, Micros, to_datetime, to_micros
from holdfast.core.cron import instants, zone_of
from holdfast.core.lifecycle import NewJob

Overlap = Literal["skip", "queue", "allow", "cancel"]
Missed = Literal["latest", "all", "none"]

WITHIN: Final = 86_400
"""Missed ticks older than this many seconds start no chain, unless the schedule says otherwise."""
ID_PREFIX: Final = "schedule:"
_FIRED: Final = "fire:"


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a schedule ticks: a cron expression in a time zone, or a grid with a fixed distance."""

    cron: str | None = None
    every: Micros | None = None
    tz: str = "UTC"

    def ticks(self, after: Micros, *, origin: Micros) -> Iterator[Micros]:
        """The ticks later than `after`, in order. The grid of `every` begins at `origin`, which is not a tick."""
        if self.cron is not None:
            return instants(self.cron, zone_of(self.tz), after)
        assert self.every is not None, "a rule has cron or every"
        passed = max(0, (after - origin) // self.every)
        return count(origin + (passed + 1) * self.every, self.every)


class ScheduleDeclaration(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the application says about a schedule: when it ticks, which job it starts, and its policies."""

    name: str
    rule: Rule
    job: NewJob
    """The first job of each chain, without its id."""
    overlap: Overlap = "skip"
    missed: Missed = "latest"
    within: Micros = WITHIN * SECOND
    jitter: Micros = 0

    def __repr__(self) -> str:
        """Without the payload."""
        return f"ScheduleDeclaration({self.name!r})"

    @property
    def digest(self) -> str:
        """Equal for equal declarations."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]


class TickCounts(NamedTuple):
    """How many ticks started a chain, were skipped, and were missed."""

    started: int = 0
    skipped: int = 0
    missed: int = 0


class ScheduleRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A schedule as a store keeps it, encoded by `write` and decoded by `read`."""

    declaration: ScheduleDeclaration
    origin: Micros
    """When the schedule was created: the beginning of the grid of `every`."""
    next_at: Micros
    """The first tick that was not handled yet."""
    registry: str | None = None
    """The registry that declares it. None for a schedule that was created at run time."""
    declared_by: dict[str, str] = {}
    """The workers that started with a declaration of it, and the digest of that declaration."""
    last_tick: Micros | None = None
    last_chain: str | None = None
    paused: bool = False
    reason: str | None = None
    orphaned: bool = False
    counts: TickCounts = TickCounts()
    unfinished: tuple[str, ...] = ()
    """Chains that were unfinished at the last tick, or were started since. Only for policies that need them."""

    def __repr__(self) -> str:
        """Without the payload."""
        return f"ScheduleRecord({self.declaration.name!r})"

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def ticks_at(self) -> Micros | None:
        """When a worker has to look at the schedule; None if it is not ticked."""
        return None if self.orphaned else self.next_at

    def ticks(self, after: Micros) -> Iterator[Micros]:
        """The ticks later than `after`."""
        return self.declaration.rule.ticks(after, origin=self.origin)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A copy of a schedule, as callers see it."""

    name: str
    type: str
    cron: str | None
    every: timedelta | None
    tz: str
    next_at: datetime
    last_tick: datetime | None
    last_chain: str | None
    paused: bool
    reason: str | None
    overlap: Overlap
    missed: Missed
    orphaned: bool
    counts: TickCounts


write = msgspec.json.Encoder().encode
read = msgspec.json.Decoder(ScheduleRecord).decode


def shown(record: ScheduleRecord) -> Schedule:
    """A schedule as callers see it."""
    declaration, rule = record.declaration, record.declaration.rule
    return Schedule(
        name=record.name,
        type=declaration.job.type,
        cron=rule.cron,
        every=None if rule.every is None else timedelta(microseconds=rule.every),
        tz=rule.tz,
        next_at=to_datetime(record.next_at),
        last_tick=None if record.last_tick is None else to_datetime(record.last_tick),
        last_chain=record.last_chain,
        paused=record.paused,
        reason=record.reason,
        overlap=declaration.overlap,
        missed=declaration.missed,
        orphaned=record.orphaned,
        counts=record.counts,
    )


def upcoming(schedule: Schedule, number: int) -> list[datetime]:
    """The next ticks of a schedule, in UTC. Empty for an orphaned one, which is not ticked."""
    if schedule.orphaned:
        return []
    every = None if schedule.every is None else schedule.every // timedelta(microseconds=1)
    first = to_micros(schedule.next_at)
    ticks = chain([first], Rule(schedule.cron, every, schedule.tz).ticks(first, origin=first))
    return [to_datetime(tick) for tick in islice(ticks, number)]


def new_record(declaration: ScheduleDeclaration, now: Micros, *, registry: str | None = None) -> ScheduleRecord:
    """The record of a new schedule. ValueError if it never ticks."""
    first = next(declaration.rule.ticks(now, origin=now), None)
    if first is None:
        raise ValueError(f"schedule {declaration.name!r} would never tick")
    return ScheduleRecord(declaration, origin=now, next_at=first, registry=registry)


def changed_record(record: ScheduleRecord, declaration: ScheduleDeclaration, now: Micros) -> ScheduleRecord:
    """The record after its declaration changed. The next tick stays the same if the rule did not change."""
    next_at = record.next_at
    if declaration.rule != record.declaration.rule or record.orphaned:
        following = next(declaration.rule.ticks(now, origin=record.origin), None)
        if following is None:
            raise ValueError(f"schedule {declaration.name!r} would never tick")
        next_at = following
    return msgspec.structs.replace(record, declaration=declaration, next_at=next_at, orphaned=False)


def tick_id(name: str, tick: Micros) -> str:
    """The id of the chain of a tick."""
    return f"{ID_PREFIX}{name}:{_text(tick)}"


def fire_id(name: str, tick: Micros) -> str:
    """The id of the chain of a call of `fire`."""
    return f"{ID_PREFIX}{name}:{_FIRED}{_text(tick, timespec='microseconds')}"


def tick_of(chain_id: str) -> datetime | None:
    """The tick that started a chain; None if no schedule did."""
    if not chain_id.startswith(ID_PREFIX) or not chain_id.endswith("Z"):
        return None
    day, separator, time = chain_id.rpartition("T")
    try:
        return datetime.fromisoformat(f"{day[-10:]}{separator}{time[:-1]}").replace(tzinfo=UTC)
    except ValueError:
        return None


def schedule_of(chain_id: str) -> str | None:
    """The name of the schedule that started a chain; None if no schedule did. A name may contain any character."""
    if tick_of(chain_id) is None:
        return None
    name, _, _date = chain_id.rpartition("T")[0].removeprefix(ID_PREFIX).rpartition(":")
    return name.removesuffix(":" + _FIRED.rstrip(":"))


def first_job(declaration: ScheduleDeclaration, chain_id: str, tick: Micros, *, after: tuple[str, ...] = ()) -> NewJob:
    """The first job of the chain of a tick. It is due at the tick, plus its jitter and the delay of the start.

    It waits until the chains `after` have ended, with any status.
    """
    job = declaration.job
    due = tick + _jitter(declaration, tick) + job.delay
    job = msgspec.structs.replace(job, id=chain_id, chain_id=chain_id, at=due, delay=0, chosen=True)
    return msgspec.structs.replace(job, after=after, on_blocker_failure=WHEN_ENDED) if after else job


def _jitter(declaration: ScheduleDeclaration, tick: Micros) -> Micros:
    """The same for each computation of a tick, and evenly distributed over names and ticks."""
    if not declaration.jitter:
        return 0
    digest = hashlib.sha256(f"{declaration.name} {tick}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (declaration.jitter + 1)


def _text(tick: Micros, timespec: str = "auto") -> str:
    return to_datetime(tick).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def micros_of(name: str, moment: datetime) -> Micros:
    """An argument of a call as microseconds. ValueError for a time without a zone."""
    try:
        return to_micros(moment)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
