"""Charts: the numbers of each interval, and lines for a drawing that needs no script.

A script replaces the drawing by a chart with a legend for the position of the pointer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.core.counter_report import Counters
from holdfast.core.counters import Counts, Histogram, combined
from holdfast.dashboard.text import seconds

WIDTH, HEIGHT = 600, 110
"""The size of a drawing. It is stretched to the width of the page."""

Value = float | int | None


@dataclass(frozen=True, slots=True)
class Series:
    """One line. `style` is the class of its colour."""

    name: str
    style: str
    values: Sequence[Value]


@dataclass(frozen=True, slots=True)
class Chart:
    """Some series over the same intervals. `times` are the beginnings of the intervals, in seconds since 1970."""

    id: str
    title: str
    unit: str
    times: Sequence[int]
    series: Sequence[Series]

    @property
    def most(self) -> float:
        return max((value for each in self.series for value in each.values if value is not None), default=0)

    @property
    def most_text(self) -> str:
        return seconds(self.most) if self.unit == "seconds" else f"{self.most:,}"

    @property
    def data(self) -> str:
        """JSON for the script."""
        series = [{"name": each.name, "style": each.style, "values": each.values} for each in self.series]
        return json.dumps({"unit": self.unit, "times": self.times, "series": series}, separators=(",", ":"))

    def path(self, series: Series) -> str:
        """The line of a series as a path of SVG. It is interrupted where there are no values."""
        step = WIDTH / max(1, len(series.values) - 1)
        most = self.most or 1
        parts: list[str] = []
        pen = "M"
        for place, value in enumerate(series.values):
            if value is None:
                pen = "M"
                continue
            parts.append(f"{pen}{place * step:.1f} {HEIGHT - 2 - value / most * (HEIGHT - 6):.1f}")
            pen = "L"
        # A single value is a point: a line of no length is drawn with round ends.
        return "".join(parts) + ("h0.1" if len(parts) == 1 else "")


def charts(counters: Counters, *, day: bool) -> list[Chart]:
    """Throughput, waiting times and run times, per minute of an hour or per ten minutes of a day."""
    width = 10 if day else 1
    intervals = _intervals(counters, minutes=width, number=144 if day else 60)
    times = [int(moment.timestamp()) for moment, _ in intervals]
    counts = [each for _, each in intervals]

    def line(name: str, style: str, value: Callable[[Counts], Value]) -> Series:
        return Series(name, style, [value(each) for each in counts])

    per = "per 10 minutes" if day else "per minute"
    return [
        Chart(
            "throughput",
            f"Jobs {per}",
            "jobs",
            times,
            [
                line("completed", "completed", lambda each: each.completed),
                line("failed", "failed", lambda each: each.failed),
                line("retried", "cancelled", lambda each: each.retried + each.reaped),
            ],
        ),
        Chart(
            "waits", "Waiting time from due to claimed", "seconds", times, _percentiles(counts, lambda each: each.waits)
        ),
        Chart("runs", "Run time of attempts", "seconds", times, _percentiles(counts, lambda each: each.runs)),
    ]


def _percentiles(counts: Sequence[Counts], histogram: Callable[[Counts], Histogram]) -> list[Series]:
    def values(percent: float) -> list[Value]:
        found = (histogram(each).percentile(percent) for each in counts)
        return [None if value is None else round(value, 6) for value in found]

    styles = {50: "running", 95: "blocked", 99: "failed"}
    return [Series(f"{percent} %", style, values(percent)) for percent, style in styles.items()]


def _intervals(counters: Counters, *, minutes: int, number: int) -> list[tuple[datetime, Counts]]:
    """The counts of all types together for each of the last intervals, oldest first."""
    size = timedelta(minutes=minutes)
    epoch = datetime.fromtimestamp(0, counters.until.tzinfo)
    last = epoch + (counters.until - epoch) // size * size
    first = last - (number - 1) * size
    minutes_of: list[list[Counts]] = [[] for _ in range(number)]
    for moment, counts in _minutes(counters):
        place = (moment - first) // size
        if 0 <= place < number:
            minutes_of[place].append(counts)
    return [(first + place * size, combined(found)) for place, found in enumerate(minutes_of)]


def _minutes(counters: Counters) -> Iterable[tuple[datetime, Counts]]:
    for each in counters.types.values():
        for minute in each.minutes:
            yield minute.at, minute.counts
