"""A continuation that would close a cycle is refused."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.attempt_ends import end, sides
from tests.conformance.client.harness import TIMEOUT, ClientHarness, in_time, value


async def test_a_continuation_that_would_close_a_cycle_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(harness.jobs["value"].bind(1), after=[attempt.job.chain_id])
            return done.continue_with(harness.jobs["value"].bind(2), after=[side])

    harness.jobs.job(value)
    job = await end(harness, charge)

    assert (job.status, job.error.type) == ("failed", "DependencyCycle")
    assert f"{job.id}' waits for" in job.error.message
    assert await sides(harness) == []


async def test_a_refused_cycle_is_retried_like_any_error(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        after = [attempt.job.chain_id] if attempt.job.attempt == 1 else []
        return harness.jobs["value"].bind(7).options(after=after)

    harness.jobs.job(value)
    job_type = harness.job(charge)
    chain = await harness.client.start(job_type.bind(1), max_attempts=2)
    await harness.drain(advance=True)

    assert await harness.client.wait(chain, timeout=60) == 7
    assert [each.outcome for each in (await harness.client.report(chain.id)).attempts] == ["failed", "completed"]


async def test_two_attempts_whose_continuations_wait_for_each_other_one_is_refused(
    harness: ClientHarness,
) -> None:
    both = threading.Barrier(2) if harness.mode is Mode.SYNC else asyncio.Barrier(2)

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if attempt.job.attempt == 1:
            await _meet(both)
        async with attempt.complete() as done:
            if attempt.job.attempt == 1:
                return done.continue_with(harness.jobs["value"].bind(number), after=[f"chain-{1 - number}"])
            return done.output(number)

    harness.jobs.job(value)
    job_type = harness.job(charge)
    await harness.client.start_many([job_type.bind(n).options(id=f"chain-{n}", max_attempts=2) for n in (0, 1)])
    await harness.drain(advance=True)

    outputs = [await harness.client.wait(f"chain-{n}", timeout=60) for n in (0, 1)]
    errors = [
        each.error.type
        for n in (0, 1)
        for each in (await harness.client.report(f"chain-{n}")).attempts
        if each.error is not None
    ]
    assert (outputs, errors) == ([0, 1], ["DependencyCycle"])


async def _meet(both: threading.Barrier | asyncio.Barrier) -> None:
    """Wait until both attempts run."""
    if isinstance(both, threading.Barrier):
        both.wait(TIMEOUT)
    else:
        await in_time(both.wait())
