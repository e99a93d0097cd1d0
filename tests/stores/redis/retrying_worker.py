"""A worker loop for tests of failovers: it starts, claims and settles, and repeats calls without a reply."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TypeVar

import msgspec

from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, Operation, Settle, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import completed, new_job

R = TypeVar("R")

TERMS = (TypeTerms("resize", 30_000_000, 25),)


class RetryingWorker:
    """Starts, claims and settles jobs. It repeats claims and settlements until they are answered, as a worker does."""

    def __init__(self, store: RedisStore) -> None:
        self.started: list[str] = []
        """Chains of the starts that were acknowledged."""
        self.done: list[str] = []
        self.stop = threading.Event()
        self.longest = 0.0
        """Seconds that the slowest call took."""
        self._store = store

    def run(self) -> None:
        while not self.stop.is_set():
            with suppress(StoreUnavailable):
                self.started.append(self._perform(Start((new_job(),)))[0].chain.first.id)
            self._work()

    def finish(self) -> None:
        """Run the jobs that are left, also those of starts that were not acknowledged."""
        while self._work():
            pass

    def _work(self) -> bool:
        claim = ClaimJobs(TERMS, 2, "worker", new_token())
        jobs = self._repeat(claim, msgspec.structs.replace(claim, again=True))
        settle = Settle(tuple(completed(job) for job in jobs))
        if jobs:
            assert all(settled.written for settled in self._repeat(settle, settle))
        self.done += [job.id for job in jobs]
        return bool(jobs)

    def _repeat(self, operation: Operation[R], again: Operation[R]) -> R:
        while True:
            try:
                return self._perform(operation)
            except StoreUnavailable:
                operation = again

    def _perform(self, operation: Operation[R]) -> R:
        begun = time.monotonic()
        try:
            return self._store.perform_sync(operation)
        finally:
            self.longest = max(self.longest, time.monotonic() - begun)


def without_wait(store: RedisStore) -> None:
    """Stop asking for the confirmation of replicas: after a failover the new master has none."""
    object.__setattr__(store._address, "wait", 0)  # pyright: ignore[reportPrivateUsage]
