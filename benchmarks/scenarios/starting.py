"""Starts a second: one at a time, each with its own commit, and many together."""

from __future__ import annotations

from benchmarks.processes import Run
from benchmarks.scenarios.scenario import Scenario, amount


class Starting(Scenario):
    idea = "starting"
    name = "starting"

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        singles, many = run.contender.starts
        run.ask("setup")
        said = run.ask("starts", count=amount(singles, scale), bulk=amount(many, scale))
        return {"one start at a time": said["one"], "bulk start": said["bulk"]}
