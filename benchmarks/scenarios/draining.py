"""A preloaded backlog, drained by one worker process, until the last job is settled in the store."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks import resources
from benchmarks.processes import Child, Run
from benchmarks.scenarios.scenario import Scenario, amount

SAMPLE_SECONDS = 0.2
TIMEOUT = 90.0


class Drain(Scenario):
    idea = "draining"

    def __init__(self, name: str, slots: int | None) -> None:
        self.name = name
        self._slots = slots

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        jobs = amount(run.contender.drains[self._slots is None], scale)
        rate, busiest = drain(run, jobs=jobs, slots=self._slots)
        return {self.name: rate} | ({"memory, busy": busiest} if self._slots is None and busiest else {})


def drain(run: Run, *, jobs: int, slots: int | None, kind: str = "plain", workers: int = 1) -> tuple[float, float]:
    """Load, start the workers, and wait. Returns handlers per second and the largest memory of a worker."""
    with ExitStack() as stack:
        producer = stack.enter_context(run.child("drain", count=jobs, kind=kind, timeout=TIMEOUT))
        producer.answer()
        started = [stack.enter_context(run.worker(slots)) for _ in range(workers)]
        producer.go()
        for worker in started:
            worker.go()
        busiest = 0
        while not producer.says(within=SAMPLE_SECONDS):
            _check(started)
            busiest = max(busiest, resources.memory(started[0].process.pid))
        said = producer.answer()
        return said["handlers"] / said["seconds"], float(busiest)


def _check(workers: list[Child]) -> None:
    for worker in workers:
        if worker.process.poll() is not None:
            worker.answer(1)
