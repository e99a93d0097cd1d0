"""How long an import takes, beyond what the interpreter takes to start."""

from __future__ import annotations

import subprocess
import time

from benchmarks.contender import Contender
from benchmarks.environments import interpreter
from benchmarks.processes import Run
from benchmarks.scenarios.scenario import Scenario

TRIES = 5


class Importing(Scenario):
    idea = "importing"
    name = "importing"
    stores = frozenset({"library"})

    def fits(self, contender: type[Contender], store: str) -> bool:
        return store in self.stores and bool(contender.module) and contender.only is None

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        python = interpreter(run.contender)
        return {"import time": _seconds(python, f"import {run.contender.module}") - _seconds(python, "pass")}


def _seconds(python: str, program: str) -> float:
    """The shortest of several: disturbances only add time."""
    taken: list[float] = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        subprocess.run([python, "-c", program], check=True, capture_output=True)
        taken.append(time.perf_counter() - begun)
    return min(taken)
