"""Many chains, and one job that waits for them all, many times over."""

from __future__ import annotations

from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount


class FanIn(Scenario):
    idea = "fan_in"
    everyone = False

    def __init__(self, fan: int) -> None:
        self.name = f"fan-in of {fan:,}"
        self._fan = fan

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        rate, _ = drain(run, jobs=max(self._fan, amount(10_000, scale)), slots=None, kind=f"fan-in-{self._fan}")
        return {f"fan-in of {self._fan:,}, jobs": rate}
