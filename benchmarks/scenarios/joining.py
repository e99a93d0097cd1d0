"""Starts a second in a transaction of the application, one at a time, each beside one write of the application."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.processes import Run
from benchmarks.scenarios.scenario import Scenario, amount


class Joining(Scenario):
    idea = "joining"
    name = "joining"
    stores = frozenset({"postgres", "sqlite"})

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        said = run.ask("starts", count=amount(run.contender.starts[0], scale), bulk=0)
        return {"start in a transaction": said["one"]}

    def fits(self, contender: type[Contender], store: str) -> bool:
        return contender.only is not None and super().fits(contender, store)
