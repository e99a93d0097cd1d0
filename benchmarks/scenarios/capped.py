"""Jobs of one type of which two may run at once in the fleet."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount


class Capped(Scenario):
    idea = "capped"
    name = "drain, a limit of two"

    def fits(self, contender: type[Contender], store: str) -> bool:
        return contender.capped > 0 and super().fits(contender, store)

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        rate, _ = drain(run, jobs=amount(run.contender.capped, scale), slots=10, kind="capped")
        return {self.name: rate}
