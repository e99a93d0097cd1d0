"""Schedules in the answers of commands: as documents, and as text."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType

from holdfast.cli import tables
from holdfast.cli.documents import Document
from holdfast.cli.times import iso, lasting
from holdfast.core.cron import zone_of
from holdfast.core.schedule import Schedule, upcoming

SHOWN_TICKS = 5

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.")]


def schedule_document(schedule: Schedule) -> Document:
    """A schedule and its next ticks, in its zone and in UTC."""
    return {
        "name": schedule.name,
        "type": schedule.type,
        "cron": schedule.cron,
        "every": None if schedule.every is None else schedule.every.total_seconds(),
        "tz": schedule.tz,
        "next_at": iso(schedule.next_at),
        "last_tick": iso(schedule.last_tick),
        "last_chain": schedule.last_chain,
        "paused": schedule.paused,
        "reason": schedule.reason,
        "overlap": schedule.overlap,
        "missed": schedule.missed,
        "orphaned": schedule.orphaned,
        "counts": schedule.counts._asdict(),
        "ticks": [
            {"local": iso(tick.astimezone(zone_of(schedule.tz))), "utc": iso(tick)}
            for tick in upcoming(schedule, SHOWN_TICKS)
        ],
    }


def schedule_facts(schedule: Schedule) -> RenderableType:
    """A schedule as a table of names and values, and its next ticks."""
    counts = schedule.counts
    facts = tables.facts(
        [
            ("schedule", tables.text(schedule.name, "bold")),
            ("type", schedule.type),
            ("rule", rule(schedule)),
            ("state", state(schedule)),
            ("overlap", schedule.overlap),
            ("missed", schedule.missed),
            ("last tick", iso(schedule.last_tick)),
            ("last chain", schedule.last_chain),
            ("ticks", f"{counts.started} started, {counts.skipped} skipped, {counts.missed} missed"),
        ]
    )
    ticks = [f"  {_local(tick, schedule.tz)}  =  {tick:%Y-%m-%d %H:%M:%S}Z" for tick in upcoming(schedule, SHOWN_TICKS)]
    return Group(facts, tables.text("next", "bold"), *map(tables.text, ticks)) if ticks else facts


def rule(schedule: Schedule) -> str:
    """When a schedule ticks, on one line."""
    if schedule.every is not None:
        return f"every {lasting(schedule.every.total_seconds())}"
    return f"{schedule.cron} ({schedule.tz})"


def state(schedule: Schedule) -> str:
    """Whether a schedule is ticked."""
    if schedule.orphaned:
        return "orphaned: no worker declares it any more, so it is not ticked"
    if schedule.paused:
        return f"paused: {schedule.reason}" if schedule.reason else "paused"
    return "active"


def _local(tick: datetime, zone: str) -> str:
    local = tick.astimezone(zone_of(zone))
    return f"{local:%a %Y-%m-%d %H:%M:%S} {local.tzname()}"
