"""Schedules that fire every second: how late their handlers begin, and how many ticks are missed."""

from __future__ import annotations

import time

from benchmarks.contender import SCHEDULES, Contender
from benchmarks.processes import Broken, Run
from benchmarks.scenarios.latency import percentile
from benchmarks.scenarios.scenario import Scenario

SECONDS = 10
WARM_UP = 3
"""Seconds until every library ticks."""


class Schedules(Scenario):
    idea = "schedules"
    name = "schedules"

    def fits(self, contender: type[Contender], store: str) -> bool:
        return contender.only is not None and super().fits(contender, store)

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        with run.worker(10) as worker:
            worker.go()
            time.sleep(WARM_UP)
            before = run.ticks.count()
            time.sleep(SECONDS)
            laps = run.ticks.laps()[before:]
        if not laps:
            raise Broken(f"no tick in {SECONDS} s")
        return {
            "tick p50": percentile(laps, 0.5),
            "tick p95": percentile(laps, 0.95),
            "ticks that ran": len(laps) / (SCHEDULES * SECONDS),
        }
