"""Jobs with a lock per key, ten jobs of each key: limits beside the locks and partitions of peers."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount

JOBS_PER_KEY = 10


class Keyed(Scenario):
    idea = "keyed"
    name = "drain, a lock per key"

    def fits(self, contender: type[Contender], store: str) -> bool:
        return contender.keyed > 0 and super().fits(contender, store)

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        keys = amount(contender_keys(run.contender), scale)
        rate, _ = drain(run, jobs=keys * JOBS_PER_KEY, slots=None, kind=f"keyed {keys}")
        return {self.name: rate}


def contender_keys(contender: type[Contender]) -> int:
    """How many keys its jobs have."""
    return contender.keyed // JOBS_PER_KEY
