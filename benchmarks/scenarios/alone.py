"""The memory store, which only its own process reaches: everything in that one process."""

from __future__ import annotations

from benchmarks.contender import Unsupported
from benchmarks.processes import Run
from benchmarks.scenarios.scenario import Scenario, amount

PARTS = {
    "one start at a time": ("one", 5000),
    "bulk start": ("bulk", 30_000),
    "drain, concurrency 10": ("drain 10", 30_000),
    "drain, best settings": ("drain", 30_000),
    "round trip p50": ("call", 1000),
}


class Alone(Scenario):
    idea = "alone"
    name = "alone"
    stores = frozenset({"memory"})

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        figures: dict[str, float] = {}
        for metric, (what, usual) in PARTS.items():
            try:
                figures[metric] = run.ask("alone", kind=what, count=amount(usual, scale))["figure"]
            except Unsupported:
                continue
        return figures
