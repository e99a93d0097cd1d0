"""The same backlog for two and four worker processes, which begin together."""

from __future__ import annotations

from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount


class Processes(Scenario):
    idea = "processes"
    everyone = False

    def __init__(self, workers: int) -> None:
        self.name = f"drain, {workers} processes"
        self._workers = workers

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        rate, _ = drain(run, jobs=amount(run.contender.drains[1], scale), slots=None, workers=self._workers)
        return {self.name: rate}
