"""Small bar charts as SVG attributes: no script, no style, and a text for screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH, HEIGHT = 120, 22


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, in the units of the picture."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The bars of a chart, and what it shows, as text."""

    bars: Sequence[Bar]
    text: str


def sparkline(counts: Sequence[tuple[datetime, int]], *, since: datetime, length: timedelta, bars: int) -> Sparkline:
    """How many per interval, from `since` on. An interval with at least one has a visible bar."""
    sums = [0] * bars
    for at, count in counts:
        place = int((at - since) / length * bars)
        sums[min(max(place, 0), bars - 1)] += count
    most = max(sums)
    width = WIDTH / bars
    drawn: list[Bar] = []
    for place, count in enumerate(sums):
        if count:
            height = max(2.0, round(HEIGHT * count / most, 1))
            drawn.append(
                Bar(round(place * width, 2), round(HEIGHT - height, 1), round(max(width - 0.5, 0.8), 2), height)
            )
    return Sparkline(drawn, f"{sum(sums):,} in this time, at most {most:,} per interval")
