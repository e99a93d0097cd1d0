"""Limits: the pace of many lanes beside the unlimited pace, and a claim beside jobs that wait for a full lane."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount

LANES = 10_000
JOBS_PER_LANE = 10
WAITING = 100_000


class _LaneScenario(Scenario):
    idea = "lanes"
    everyone = False

    def fits(self, contender: type[Contender], store: str) -> bool:
        return contender.name == "Holdfast, limits" and super().fits(contender, store)


class LaneDrain(_LaneScenario):
    """The same number of jobs without limits, and in lanes that run one job at a time."""

    def __init__(self, kind: str) -> None:
        self.name = f"drain, {kind} lanes"
        self._kind = kind

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        lanes = amount(LANES, scale)
        jobs = lanes * JOBS_PER_LANE
        unlimited, _ = drain(run, jobs=jobs, slots=None)
        run.ticks.create()
        rate, _ = drain(run, jobs=jobs, slots=None, kind=f"{self._kind} {lanes}")
        return {self.name: rate, f"{self.name}, of the unlimited pace": rate / unlimited}


class FullLane(_LaneScenario):
    """A claim of jobs without limits, before and after many jobs wait for a full lane."""

    def __init__(self, kind: str) -> None:
        self.name = f"claim beside a {kind}"
        self._kind = kind

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        figure = run.ask("alone", kind=self._kind, count=amount(WAITING, scale))["figure"]
        return {self.name: figure}
