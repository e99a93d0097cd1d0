"""prepare and complete: what commits together, what an error rolls back, and the order of calls."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from queue import Queue
from typing import Any

import pytest

from holdfast import ClaimLost, SyncClient
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.attempt_ends import end, sides
from tests.conformance.client.harness import ClientHarness, value


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_then_complete(harness: ClientHarness, mode: str) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode):
            amount = number * 2
        async with attempt.complete() as done:
            return done.output(amount)

    job = await end(harness, charge, 21)

    assert (job.status, job.output, job.attempt) == ("completed", 42, 1)


async def test_complete_without_prepare(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            return done.output(number)

    assert (await end(harness, charge, 5)).output == 5


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_without_complete(harness: ClientHarness, mode: str) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode):
            pass
        return number

    assert (await end(harness, charge, 5)).output == 5


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_then_continue_by_returning(harness: ClientHarness, mode: str) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode):
            pass
        return next_type.bind(number + 1)

    next_type = harness.jobs.job(value)
    job = await end(harness, charge, 5)

    assert await harness.client.wait(job.chain_id, timeout=60) == 6


async def test_complete_with_a_continuation_and_side_chains(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(other.bind(1), key="side", delay=1000, priority=3)
            same = await done.start(other.bind(2), key="side")
            assert (same.id, same.deduplicated) == (side.id, True)
            return done.continue_with(next_type.bind(7), delay=60, priority=5, after=[side])

    other, next_type = harness.jobs.job(value), harness.jobs.job(name="next")(value)
    job = await end(harness, charge)

    assert (job.status, job.output) == ("completed", None)
    (side,) = await sides(harness)
    current = await harness.now(job.chain_id)
    assert (side.status, side.key, side.job.priority) == ("pending", "side", 3)
    assert (current.type, current.index, current.priority, current.status) == ("next", 1, 5, "blocked")
    assert current.scheduled_at == harness.time + timedelta(seconds=60)
    await harness.drain(advance=True)
    assert await harness.client.wait(job.chain_id, timeout=60) == 7


async def test_a_side_chain_may_replace_one_that_has_not_begun(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> int:
        async with attempt.complete() as done:
            again = await done.start(other.bind(2), key="side", debounce=5, debounce_max=60)
            assert (again.id, again.deduplicated, again.job.input) == (side.id, True, {"number": 2})
            last = await done.start(other.bind(3), key="side", replace=True, delay=30)
            assert (last.id, last.job.input) == (side.id, {"number": 3})
            done.output(number)
        return number

    other = harness.jobs.job(value)
    side = await harness.client.start(other.bind(1), key="side", delay=1000)
    job = await end(harness, charge)

    assert job.status == "completed"
    current = await harness.now(side)
    assert (current.input, current.scheduled_at) == ({"number": 3}, harness.time + timedelta(seconds=30))


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_an_error_after_complete_rolls_it_back(harness: ClientHarness, mode: str | None) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode):
                pass
        async with attempt.complete() as done:
            await done.start(harness.jobs["value"].bind(1), delay=1000)
            done.continue_with(harness.jobs["value"].bind(2))
        raise ValueError("afterwards")

    harness.jobs.job(value)
    job = await end(harness, charge)

    assert (job.status, str(job.error)) == ("failed", "ValueError: afterwards")
    assert await sides(harness) == []
    assert len((await harness.client.list_jobs()).items) == 1


async def test_an_error_inside_complete_that_is_caught_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        output = None
        try:
            async with attempt.complete() as done:
                await done.start(harness.jobs["value"].bind(1), delay=1000)
                output = done.output("done")
                raise ValueError("inside")
        except ValueError:
            return output

    harness.jobs.job(value)
    job = await end(harness, charge)

    assert (job.status, str(job.error)) == ("failed", "ValueError: inside")
    assert await sides(harness) == []


async def test_an_error_inside_an_atomic_prepare_that_is_caught_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        try:
            async with attempt.prepare("atomic"):
                raise ValueError("inside")
        except ValueError:
            return "never mind"

    assert str((await end(harness, charge)).error) == "ValueError: inside"


async def test_an_error_inside_a_staged_prepare_may_be_handled(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        try:
            async with attempt.prepare():
                raise ValueError("inside")
        except ValueError:
            return "never mind"

    assert (await end(harness, charge)).output == "never mind"


async def test_a_lost_claim_can_neither_prepare_nor_complete(harness: ClientHarness) -> None:
    reasons: Queue[str | None] = Queue()

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        _cancel(harness, attempt.job.chain_id)
        try:
            if number:
                async with attempt.complete() as done:
                    done.output(1)
            else:
                async with attempt.prepare():
                    pass
        except ClaimLost as lost:
            reasons.put(lost.reason)
            raise
        except asyncio.CancelledError:  # the abort came first
            reasons.put(attempt.attempt.signal.reason)
            raise
        raise AssertionError

    for number in (0, 1):
        job = await end(harness, charge, number)
        assert (job.status, job.output) == ("cancelled", None)
        # The worker does not wait for an aborted plain handler: it may still run.
        assert await asyncio.to_thread(reasons.get, timeout=60) == "cancelled"


def _cancel(harness: ClientHarness, chain_id: str) -> None:
    """Cancel in a separate thread, so that async and plain handlers can call it."""
    thread = threading.Thread(target=SyncClient(harness.store, harness.jobs).cancel, args=(chain_id,))
    thread.start()
    thread.join(60)


async def test_the_token_is_new_for_each_attempt(harness: ClientHarness) -> None:
    tokens: list[str] = []

    async def flaky(attempt: AttemptAdapter, number: int) -> None:
        tokens.append(attempt.claim.token)
        raise ValueError

    await harness.client.start(harness.job(flaky).bind(), max_attempts=3)
    await harness.drain(advance=True)

    assert len(set(tokens)) == 3


async def test_two_attempts_that_start_one_key_create_one_side_chain(harness: ClientHarness) -> None:
    """The transactions overlap. On a store that buffers them, the second attempt is retried."""

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(harness.jobs["value"].bind(number), key="shared", delay=100_000)
            return done.output(side.id)

    harness.jobs.job(value)
    charging = harness.job(charge)
    chains = await harness.client.start_many([charging.bind(number) for number in range(10)])
    await harness.drain(advance=True, types=charging, concurrency=10)

    (side,) = await sides(harness)
    assert {await harness.client.wait(chain, timeout=60) for chain in chains} == {side.id}
