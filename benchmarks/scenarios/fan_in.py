"""A hundred chains, and one job that waits for them all, many times over."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount


class FanIn(Scenario):
    idea = "fan_in"
    name = "fan-in"
    everyone = False

    def fits(self, contender: type[Contender], store: str) -> bool:
        """Nothing written by hand in a few lines does this."""
        return contender.name == "Holdfast" and super().fits(contender, store)

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        rate, _ = drain(run, jobs=amount(10_000, scale), slots=None, kind="fan-in")
        return {"fan-in of 100, jobs": rate}
