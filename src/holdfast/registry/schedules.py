"""Schedules that an application declares in code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, get_args

from holdfast.core.clock import Micros, duration
from holdfast.core.cron import check_cron, zone_of
from holdfast.core.retry import Seconds, seconds
from holdfast.core.schedule import WITHIN, Missed, Overlap, Rule
from holdfast.registry.bound import AnyBound, Bound
from holdfast.registry.job_type import JobType
from holdfast.registry.options import StartOptions, check_choice, check_duration

MAX_NAME = 200
SHORTEST = 0.001
_LEGAL_OPTIONS = ("priority", "max_attempts", "timeout", "delay", "on_blocker_failure")
_OVERLAP: tuple[str, ...] = get_args(Overlap)
_MISSED: tuple[str, ...] = get_args(Missed)


@dataclass(frozen=True, slots=True)
class DeclaredSchedule:
    """A schedule as the application describes it, checked."""

    name: str
    bound: Bound[Any]
    rule: Rule
    overlap: Overlap
    missed: Missed
    within: Micros
    jitter: Micros


class Schedules:
    """The schedules of a registry."""

    def __init__(self) -> None:
        self.declared_schedules: dict[str, DeclaredSchedule] = {}

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
    ) -> None:
        """Start a chain of this call repeatedly: at the times of a cron expression in a time zone, or `every` interval.

        `overlap` says what happens to a tick while the chain of an earlier one has not ended. `missed` says which ticks
        start a chain later if no worker ran, unless they are older than `within`. `jitter` delays each chain by up to
        this time. Workers write the schedule to the store when they start.
        """
        declared = checked_schedule(
            name, bound, cron=cron, every=every, tz=tz, overlap=overlap, missed=missed, within=within, jitter=jitter
        )
        self.add_schedules({name: declared})

    def add_schedules(self, others: dict[str, DeclaredSchedule]) -> None:
        """Add schedules. ValueError if another schedule has one of their names."""
        for name, other in others.items():
            if self.declared_schedules.get(name, other) is not other:
                raise ValueError(f"there are two schedules {name!r}; a name stands for one schedule")
        self.declared_schedules = self.declared_schedules | others


def checked_schedule(
    name: str,
    bound: Bound[Any],
    *,
    cron: str | None,
    every: Seconds | None,
    tz: str | tzinfo | None,
    overlap: Overlap,
    missed: Missed,
    within: Seconds,
    jitter: Seconds,
) -> DeclaredSchedule:
    """A schedule with these values. ValueError or TypeError with the reason if they cannot be used."""
    check_schedule_name(name)
    _check_bound(name, bound)
    check_choice("overlap", overlap, _OVERLAP)
    check_choice("missed", missed, _MISSED)
    check_duration("within", within, zero=True)
    check_duration("jitter", jitter, zero=True)
    if (cron is None) == (every is None):
        raise ValueError(f"schedule {name!r}: give either cron or every")
    zone = _zone_name(tz)
    interval: Micros | None = None
    if cron is not None:
        if not isinstance(cron, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise TypeError(f"cron must be a str, not {type(cron).__name__}")
        check_cron(cron, zone_of(zone))
    if every is not None:
        check_duration("every", every)
        interval = duration(max(seconds(every), 0))
        if seconds(every) < SHORTEST:
            raise ValueError(f"every must be at least {SHORTEST:g} s, not {every}")
        if seconds(jitter) >= seconds(every):
            raise ValueError(f"schedule {name!r}: jitter ({jitter}) must be shorter than every ({every})")
    rule = Rule(cron=cron, every=interval, tz=zone)
    return DeclaredSchedule(name, bound, rule, overlap, missed, duration(seconds(within)), duration(seconds(jitter)))


def check_schedule_name(name: str) -> str:
    """The name, if a schedule can have it."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise TypeError(f"the name of a schedule must be a str, not {type(name).__name__}")
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise ValueError(f"the name of a schedule has 1 to {MAX_NAME} printable characters, unlike {name!r:.60}")
    return name


def _check_bound(name: str, bound: AnyBound) -> None:
    if isinstance(bound, JobType):
        raise TypeError(f"{bound.name} is a job type; schedule {bound.name}.bind(...)")
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise TypeError(f"only the result of TYPE.bind(...) can be scheduled, not {type(bound).__name__}")
    if bound.type.blockers is not None:
        raise ValueError(
            f"schedule {name!r}: {bound.type.name} declares blockers=, and a scheduled start waits for no other chain; "
            "schedule a type whose handler starts the blockers and then this one"
        )
    usual = StartOptions()
    for option in StartOptions.__struct_fields__:
        if option not in _LEGAL_OPTIONS and getattr(bound.start_options, option) != getattr(usual, option):
            raise ValueError(
                f"schedule {name!r}: a scheduled start takes no {option}; it takes {', '.join(_LEGAL_OPTIONS)}"
            )


def _zone_name(tz: str | tzinfo | None) -> str:
    if tz is None:
        return "UTC"
    name = tz if isinstance(tz, str) else getattr(tz, "key", None) or str(tz)
    if not isinstance(name, str):
        raise TypeError(f"tz must be the name of a time zone, not {type(tz).__name__}")
    zone_of(name)
    return name
