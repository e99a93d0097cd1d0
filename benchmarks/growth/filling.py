"""Fills a store with finished and pending jobs, by the same operations that clients and workers use."""

from __future__ import annotations

import os

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
    start(store, FINISHED, count)
    while records := store.perform_sync(ClaimJobs(_terms(FINISHED), SETTLED_TOGETHER, "worker", token())):
        store.perform_sync(Settle(tuple(completed(record) for record in records)))
    start(store, PENDING, count)


def start(store: Store, type: str, count: int) -> None:
    for first in range(0, count, STARTED_TOGETHER):
        number = min(STARTED_TOGETHER, count - first)
        store.perform_sync(Start(tuple(new_job(type, keep=KEPT) for _ in range(number))))


def claim(type: str, limit: int) -> ClaimJobs:
    return ClaimJobs(_terms(type), limit, "worker", token())


def token() -> str:
    return os.urandom(8).hex()


def _terms(type: str) -> tuple[TypeTerms, ...]:
    return (TypeTerms(type, 3_600_000_000, 25),)
