"""Durable steps: jobs with one step beside plain jobs, and the steps of one handler in a row beside bare commits."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount

JOBS = 1000
IN_A_ROW = 500
TIMEOUT = 60.0


class Steps(Scenario):
    """Drains plain jobs and jobs with one step, one after the other on the same storage."""

    idea = "steps"

    def __init__(self, setting: str, slots: int | None) -> None:
        self.name = f"steps, {setting}"
        self._plain = f"plain jobs beside steps, {setting}"
        self._slots = slots

    def fits(self, contender: type[Contender], store: str) -> bool:
        """Only contenders with steps."""
        return contender.has_steps and super().fits(contender, store)

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        figures: dict[str, float] = {}
        for kind, name in (("plain", self._plain), ("step", self.name)):
            run.ticks.create()
            figures[name], _ = drain(run, jobs=amount(JOBS, scale), slots=self._slots, kind=kind)
        return figures


class Sequence(Steps):
    """One handler with many steps. Ours makes a bare commit of one row before each step, by the driver of the store."""

    def __init__(self) -> None:
        super().__init__("one after the other", 10)
        self.name = "sequential steps"

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        with run.worker(10) as worker:
            worker.go()
            found = run.ask("sequence", count=amount(IN_A_ROW, scale), timeout=TIMEOUT)["laps"]
        return dict(zip(("sequential step p50", "bare commit beside steps p50"), found, strict=False))
