"""The figures: name, unit, and whether higher or lower is better."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    unit: str
    higher: bool = True

    def show(self, value: float) -> str:
        """A figure as text."""
        match self.unit:
            case "/s":
                return f"{value:,.0f} /s"
            case "ms":
                return f"{value * 1000:.2f} ms" if value < 0.1 else f"{value * 1000:,.0f} ms"
            case "MB":
                return f"{value / 1e6:.0f} MB"
            case _:
                return f"{value:.2%}"


METRICS = {
    "one start at a time": Metric("/s"),
    "bulk start": Metric("/s"),
    "drain, concurrency 10": Metric("/s"),
    "drain, best settings": Metric("/s"),
    "pick-up p50": Metric("ms", higher=False),
    "pick-up p95": Metric("ms", higher=False),
    "round trip p50": Metric("ms", higher=False),
    "round trip p95": Metric("ms", higher=False),
    "transactional handlers": Metric("/s"),
    "start in a transaction": Metric("/s"),
    "steps, concurrency 10": Metric("/s"),
    "plain jobs beside steps, concurrency 10": Metric("/s"),
    "steps, best settings": Metric("/s"),
    "plain jobs beside steps, best settings": Metric("/s"),
    "sequential step p50": Metric("ms", higher=False),
    "bare commit beside steps p50": Metric("ms", higher=False),
    "chains of three, jobs": Metric("/s"),
    "fan-in of 100, jobs": Metric("/s"),
    "fan-in of 10,000, jobs": Metric("/s"),
    "drain, 2 processes": Metric("/s"),
    "drain, 4 processes": Metric("/s"),
    "drain beside a million finished": Metric("/s"),
    "drain under a pinned snapshot": Metric("/s"),
    "drain, a lock per key": Metric("/s"),
    "drain, a limit of two": Metric("/s"),
    "tick p50": Metric("ms", higher=False),
    "tick p95": Metric("ms", higher=False),
    "ticks that ran": Metric("%"),
    "drain, limited lanes": Metric("/s"),
    "drain, limited lanes, of the unlimited pace": Metric("%"),
    "drain, ordered lanes": Metric("/s"),
    "drain, ordered lanes, of the unlimited pace": Metric("%"),
    "claim beside a full lane": Metric("%", higher=False),
    "claim beside a full second lane": Metric("%", higher=False),
    "memory, idle": Metric("MB", higher=False),
    "memory, busy": Metric("MB", higher=False),
    "CPU, idle": Metric("%", higher=False),
    "import time": Metric("ms", higher=False),
}
