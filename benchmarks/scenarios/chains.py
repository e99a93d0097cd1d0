"""Chains of three jobs, each continuing to the next."""

from __future__ import annotations

from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount


class Chains(Scenario):
    idea = "chains"
    name = "chains"
    everyone = False

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        rate, _ = drain(run, jobs=amount(5000, scale), slots=None, kind="chain")
        return {"chains of three, jobs": rate}
