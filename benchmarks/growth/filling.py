"""Fills a store with finished and pending jobs.

The first jobs are written by the operations that clients and workers use. On the SQL stores the others are copies.
"""

from __future__ import annotations

import os

from benchmarks.growth.copying import copies_jobs, copy_jobs, tidy
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.engine.store import Store
from holdfast.testing.builders import completed, new_job

STARTED_TOGETHER = 1000
SETTLED_TOGETHER = 1000
FINISHED, PENDING = "finished", "pending"
"""The types of the jobs, so that a claim of one finds none of the other."""
KEPT = 0
"""Finished jobs may be pruned at once."""


def fill(store: Store, count: int) -> None:
    """Add this number of finished jobs and of pending jobs."""
    finish(store, FINISHED, count)
    start(store, PENDING, count)
    tidy(store)


def finish(store: Store, type: str, count: int, *, keep: float = KEPT) -> None:
    """Add finished jobs."""
    _start(store, type, first := _first(store, count), keep)
    while records := store.perform_sync(claim(type, SETTLED_TOGETHER)):
        store.perform_sync(Settle(tuple(completed(record) for record in records)))
    _copy(store, type, first, count)


def start(store: Store, type: str, count: int) -> None:
    """Add pending jobs."""
    _start(store, type, first := _first(store, count), KEPT)
    _copy(store, type, first, count)


def _first(store: Store, count: int) -> int:
    """The number of jobs that operations write."""
    return min(count, STARTED_TOGETHER) if copies_jobs(store) else count


def _copy(store: Store, type: str, first: int, count: int) -> None:
    if count > first:
        copy_jobs(store, type, count // first - 1)


def _start(store: Store, type: str, count: int, keep: float) -> None:
    for first in range(0, count, STARTED_TOGETHER):
        number = min(STARTED_TOGETHER, count - first)
        store.perform_sync(Start(tuple(new_job(type, keep=keep) for _ in range(number))))


def claim(type: str, limit: int) -> ClaimJobs:
    return ClaimJobs(_terms(type), limit, "worker", token())


def token() -> str:
    return os.urandom(8).hex()


def _terms(type: str) -> tuple[TypeTerms, ...]:
    return (TypeTerms(type, 3_600_000_000, 25),)
