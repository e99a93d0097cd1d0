"""The measured operations. Each leaves the store with about as many jobs as before."""

from __future__ import annotations

import time
from typing import TypeVar

from benchmarks.growth.filling import FINISHED, PENDING, claim
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    Explain,
    Filter,
    GetCounters,
    GetStats,
    ListChains,
    ListJobs,
    Operation,
    Prune,
    Settle,
    Start,
)
from holdfast.engine.store import Store
from holdfast.testing.builders import completed, new_job

R = TypeVar("R")

TOGETHER = 10
"""Jobs in a claim and in a settlement."""
PRUNED = 10
PAGE = 50


class GrowthSample:
    """Performs each operation once, and returns the seconds of each."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._taken: dict[str, float] = {}

    def measure(self) -> dict[str, float]:
        self._timed("start", Start((new_job(PENDING),)))
        self._store.perform_sync(Start(tuple(new_job(PENDING) for _ in range(TOGETHER - 1))))
        records = self._timed("claim", claim(PENDING, TOGETHER))
        self._timed("settle", Settle(tuple(completed(record) for record in records)))
        self._timed("list pending", ListJobs(Filter(statuses=(Status.PENDING,)), PAGE))
        self._timed("list completed", ListJobs(Filter(types=(FINISHED,), statuses=(Status.COMPLETED,)), PAGE))
        self._timed("list chains", ListChains(Filter(), PAGE))
        self._timed("counters", GetCounters())
        self._timed("explain", Explain(self._newest().id))
        self._timed("stats", GetStats())
        self._timed("prune", Prune(PRUNED))
        return dict(self._taken)

    def _timed(self, name: str, operation: Operation[R]) -> R:
        begun = time.perf_counter()
        answer = self._store.perform_sync(operation)
        self._taken[name] = time.perf_counter() - begun
        return answer

    def _newest(self) -> Record:
        return self._store.perform_sync(ListJobs(Filter(statuses=(Status.PENDING,)), 1))[0]
