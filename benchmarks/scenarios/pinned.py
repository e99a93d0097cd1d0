"""A session that holds an old snapshot keeps vacuum from its work: a drain under it, ours and a plain queue's."""

from __future__ import annotations

from contextlib import closing

import psycopg

from benchmarks.processes import Run
from benchmarks.scenarios.draining import drain
from benchmarks.scenarios.scenario import Scenario, amount


class Pinned(Scenario):
    idea = "pinned"
    name = "pinned"
    stores = frozenset({"postgres"})
    everyone = False

    def measure(self, run: Run, scale: float) -> dict[str, float]:
        run.ask("setup")
        with closing(psycopg.connect(run.place.url, autocommit=True)) as connection:
            connection.execute("begin isolation level repeatable read")
            connection.execute("select 1")
            rate, _ = drain(run, jobs=amount(30_000, scale), slots=None)
        return {"drain under a pinned snapshot": rate}
