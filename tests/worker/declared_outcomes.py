"""Declares a handler with an outcome."""

from __future__ import annotations

from typing import Any

from holdfast import Attempt, SyncAttempt
from tests.worker.harness import WorkerHarness


def declare(harness: WorkerHarness, decide: Any, *, plain: bool) -> Any:
    """A job type, async or plain, that returns or raises what `decide` gives for the attempt's number."""
    if plain:

        @harness.jobs.job(name="undecided")
        def undecided(attempt: SyncAttempt) -> str:
            return decide(attempt.job.attempt)  # type: ignore[no-any-return]

    else:

        @harness.jobs.job(name="undecided")
        async def undecided_async(attempt: Attempt) -> str:
            return decide(attempt.job.attempt)  # type: ignore[no-any-return]

    return harness.jobs["undecided"]
