"""The table of clock changes in the guide to schedules is what the code computes."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from pathlib import Path

import pytest

from holdfast.core.clock import to_datetime, to_micros
from holdfast.core.cron import zone_of
from holdfast.core.schedule import Rule

GUIDE = Path(__file__).parents[2] / "docs" / "schedules.md"

CHANGES = [
    ("Europe/Paris", date(2026, 3, 29), "02:00 → 03:00"),
    ("Europe/Paris", date(2026, 10, 25), "03:00 → 02:00"),
    ("America/New_York", date(2026, 3, 8), "02:00 → 03:00"),
    ("America/New_York", date(2026, 11, 1), "02:00 → 01:00"),
    ("Australia/Lord_Howe", date(2026, 10, 4), "02:00 → 02:30"),
    ("Australia/Lord_Howe", date(2026, 4, 5), "02:00 → 01:30"),
    ("Africa/Casablanca", date(2026, 3, 22), "02:00 → 03:00"),
    ("Africa/Casablanca", date(2026, 2, 15), "03:00 → 02:00"),
]
RULES = [Rule(cron="30 2 * * *"), Rule(cron="*/30 2 * * *"), Rule(cron="0 * * * *"), Rule(every=3_600_000_000)]


def row(zone: str, day: date, change: str) -> str:
    """One line of the table: the ticks of each rule from 01:00 to 04:00 local time."""
    local = zone_of(zone)
    begin = datetime.combine(day, time(1), local).astimezone(UTC)
    end = datetime.combine(day, time(4), local).astimezone(UTC)
    cells: list[str] = []
    for rule in RULES:
        rule = Rule(rule.cron, rule.every, zone)
        ticks = rule.ticks(to_micros(begin) - 1, origin=to_micros(begin - timedelta(days=1)))
        found = [to_datetime(tick).astimezone(local) for tick in takewhile(lambda t: t <= to_micros(end), ticks)]
        cells.append(", ".join(_shown(tick) for tick in found) or "none")
    return f"| {zone} | {day} | {change} | " + " | ".join(cells) + " |"


def _shown(tick: datetime) -> str:
    offset = tick.strftime("%z")
    return f"{tick:%H:%M}{offset[:3]}{'' if offset.endswith('00') else ':' + offset[3:]}"


@pytest.mark.parametrize(("zone", "day", "change"), CHANGES)
def test_the_guide_shows_the_ticks_of_the_day_on_which_clocks_change(zone: str, day: date, change: str) -> None:
    assert row(zone, day, change) in GUIDE.read_text(encoding="utf-8").splitlines()
