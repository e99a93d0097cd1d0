"""Handlers whose write and completion are one transaction: `attempt.complete()`; one commit each, at concurrency 10."""

from __future__ import annotations

from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount


class Transactional(Scenario):
    idea = "transactional"
    name = "transactional"
    stores = frozenset({"postgres", "sqlite"})
    everyone = False

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        rate, _ = drain(run, jobs=amount(3000, scale), slots=10, kind="transactional")
        return {"transactional handlers": rate}
