"""A handler that uses prepare and complete in the wrong order fails with advice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.attempt_ends import end, sides
from tests.conformance.client.harness import ClientHarness, value


async def _prepare_twice(attempt: AttemptAdapter, number: int) -> Any:
    for _ in range(2):
        async with attempt.prepare():
            pass


async def _complete_twice(attempt: AttemptAdapter, number: int) -> Any:
    async with attempt.complete() as done:
        value = done.output(1)
    async with attempt.complete() as done:
        done.output(2)
    return value


async def _prepare_after_complete(attempt: AttemptAdapter, number: int) -> Any:
    async with attempt.complete() as done:
        value = done.output(1)
    async with attempt.prepare():
        pass
    return value


async def _complete_inside_prepare(attempt: AttemptAdapter, number: int) -> Any:
    async with attempt.prepare(), attempt.complete() as done:
        return done.output(1)


async def _output_twice(attempt: AttemptAdapter, number: int) -> Any:
    async with attempt.complete() as done:
        done.output(1)
        return done.output(1)


async def _decide_nothing(attempt: AttemptAdapter, number: int) -> Any:
    async with attempt.complete():
        pass


async def _return_another(attempt: AttemptAdapter, number: int) -> Any:
    async with attempt.complete() as done:
        done.output([1])
    return [1]


async def _unknown_mode(attempt: AttemptAdapter, number: int) -> Any:
    async with attempt.prepare("sometimes"):
        pass


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (_prepare_twice, "prepare() was called twice"),
        (_complete_twice, "complete() was called twice"),
        (_prepare_after_complete, "prepare() comes before complete()"),
        (_complete_inside_prepare, "complete() comes after the prepare() block"),
        (_output_twice, "completed already"),
        (_decide_nothing, "without done.output"),
        (_return_another, "return the value of done.output"),
        (_unknown_mode, '"staged" or "atomic"'),
    ],
    ids=lambda each: each.__name__ if callable(each) else None,
)
async def test_a_wrong_order_of_calls_fails_the_attempt_with_advice(
    harness: ClientHarness, body: Any, message: str
) -> None:
    job = await end(harness, body)

    assert (job.status, job.output) == ("failed", None)
    assert message in str(job.error)


async def test_continuing_twice_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            done.continue_with(next_type.bind(1))
            return done.continue_with(next_type.bind(2))

    next_type = harness.jobs.job(value)
    job = await end(harness, charge)

    assert "completed already" in str(job.error)
    assert len((await harness.client.list_jobs()).items) == 1


async def test_an_output_that_does_not_match_rolls_back_the_completion(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await done.start(harness.jobs["value"].bind(1), delay=1000)
            return done.output(float("nan"))

    harness.jobs.job(value)
    job = await end(harness, charge)

    assert job.status == "failed"
    assert "PayloadRefused" in str(job.error)
    assert await sides(harness) == []


async def test_a_side_chain_after_nothing_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await done.start(harness.jobs["value"].bind(1), after=["nowhere"])
            return done.output(1)

    harness.jobs.job(value)
    job = await end(harness, charge)

    assert (job.status, "nowhere" in str(job.error)) == ("failed", True)
    assert await sides(harness) == []
