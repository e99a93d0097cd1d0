"""An idle worker: its resources, the delay until it begins a job, and the time from a start to its answer."""

from __future__ import annotations

import time

from benchmarks import resources
from benchmarks.contender import Unsupported
from benchmarks.processes import Run
from benchmarks.scenarios.scenario import Scenario, amount

WARM_UP = 5
TIMEOUT = 30.0


class Latency(Scenario):
    idea = "latency"
    name = "latency"

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        with run.worker(10) as worker:
            worker.go()
            run.ask("pick_up", count=WARM_UP, timeout=TIMEOUT)
            figures = _idle(worker.process.pid, 0.3 + 2.7 * min(1.0, scale))
            laps = run.ask("pick_up", count=amount(60, scale), pause=0.02, timeout=TIMEOUT)["laps"][WARM_UP:]
            figures |= {"pick-up p50": percentile(laps, 0.5), "pick-up p95": percentile(laps, 0.95)}
            try:
                laps = run.ask("call", count=amount(40, scale) + WARM_UP, pause=0.01, timeout=TIMEOUT)["laps"]
            except Unsupported:
                return figures
            laps = laps[WARM_UP:]
            return figures | {"round trip p50": percentile(laps, 0.5), "round trip p95": percentile(laps, 0.95)}


def percentile(laps: list[float], part: float) -> float:
    """The percentile of the laps."""
    return sorted(laps)[min(len(laps) - 1, int(part * len(laps)))]


def _idle(group: int, seconds: float) -> dict[str, float]:
    before, begun = resources.cpu(group), time.monotonic()
    time.sleep(seconds)
    used = (resources.cpu(group) - before) / (time.monotonic() - begun)
    return {"memory, idle": float(resources.memory(group)), "CPU, idle": used}
