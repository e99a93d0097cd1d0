"""prepare and complete: what commits together, what an error rolls back, and the order of calls."""

from __future__ import annotations

import asyncio
import threading
from queue import Queue
from typing import Any

import pytest

from holdfast import ClaimLost, SyncClient
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import TIMEOUT, ClientHarness, in_time, value


async def _end(harness: ClientHarness, body: Any, number: int = 0) -> Any:
    """Run one attempt with this body and return the job."""
    job_type = harness.jobs.get(body.__name__) or harness.job(body)
    chain = await harness.client.start(job_type.bind(number), max_attempts=1)
    await harness.drain()
    return await harness.client.get_job(chain.id)


async def _sides(harness: ClientHarness) -> list[Any]:
    return list((await harness.client.list_chains(type="value")).items)


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_then_complete(harness: ClientHarness, mode: str) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode):
            amount = number * 2
        async with attempt.complete() as done:
            return done.output(amount)

    job = await _end(harness, charge, 21)

    assert (job.status, job.output, job.attempt) == ("completed", 42, 1)


async def test_complete_without_prepare(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            return done.output(number)

    assert (await _end(harness, charge, 5)).output == 5


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_without_complete(harness: ClientHarness, mode: str) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode):
            pass
        return number

    assert (await _end(harness, charge, 5)).output == 5


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_then_continue_by_returning(harness: ClientHarness, mode: str) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode):
            pass
        return next_type.bind(number + 1)

    next_type = harness.jobs.job(value)
    job = await _end(harness, charge, 5)

    assert await harness.client.wait(job.chain_id, timeout=60) == 6


async def test_complete_with_a_continuation_and_side_chains(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(other.bind(1), key="side", delay=1000, priority=3)
            same = await done.start(other.bind(2), key="side")
            assert (same.id, same.deduplicated) == (side.id, True)
            return done.continue_with(next_type.bind(7), delay=60, priority=5, after=[side])

    other, next_type = harness.jobs.job(value), harness.jobs.job(name="next")(value)
    job = await _end(harness, charge)

    assert (job.status, job.output) == ("completed", None)
    (side,) = await _sides(harness)
    current = await harness.now(job.chain_id)
    assert (side.status, side.key, side.job.priority) == ("pending", "side", 3)
    assert (current.type, current.index, current.priority, current.status) == ("next", 1, 5, "blocked")
    assert (current.scheduled_at - harness.time).total_seconds() == 60
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
    job = await _end(harness, charge)

    assert job.status == "completed"
    current = await harness.now(side)
    assert (current.input, (current.scheduled_at - harness.time).total_seconds()) == ({"number": 3}, 30)


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
    job = await _end(harness, charge)

    assert (job.status, str(job.error)) == ("failed", "ValueError: afterwards")
    assert await _sides(harness) == []
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
    job = await _end(harness, charge)

    assert (job.status, str(job.error)) == ("failed", "ValueError: inside")
    assert await _sides(harness) == []


async def test_an_error_inside_an_atomic_prepare_that_is_caught_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        try:
            async with attempt.prepare("atomic"):
                raise ValueError("inside")
        except ValueError:
            return "never mind"

    assert str((await _end(harness, charge)).error) == "ValueError: inside"


async def test_an_error_inside_a_staged_prepare_may_be_handled(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        try:
            async with attempt.prepare():
                raise ValueError("inside")
        except ValueError:
            return "never mind"

    assert (await _end(harness, charge)).output == "never mind"


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
    job = await _end(harness, body)

    assert (job.status, job.output) == ("failed", None)
    assert message in str(job.error)


async def test_continuing_twice_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            done.continue_with(next_type.bind(1))
            return done.continue_with(next_type.bind(2))

    next_type = harness.jobs.job(value)
    job = await _end(harness, charge)

    assert "completed already" in str(job.error)
    assert len((await harness.client.list_jobs()).items) == 1


async def test_an_output_that_does_not_match_rolls_back_the_completion(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await done.start(harness.jobs["value"].bind(1), delay=1000)
            return done.output(float("nan"))

    harness.jobs.job(value)
    job = await _end(harness, charge)

    assert job.status == "failed"
    assert "PayloadRefused" in str(job.error)
    assert await _sides(harness) == []


async def test_a_side_chain_after_nothing_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await done.start(harness.jobs["value"].bind(1), after=["nowhere"])
            return done.output(1)

    harness.jobs.job(value)
    job = await _end(harness, charge)

    assert (job.status, "nowhere" in str(job.error)) == ("failed", True)
    assert await _sides(harness) == []


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
        job = await _end(harness, charge, number)
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

    (side,) = await _sides(harness)
    assert {await harness.client.wait(chain, timeout=60) for chain in chains} == {side.id}


async def test_a_continuation_that_would_close_a_cycle_fails_the_attempt(harness: ClientHarness) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(harness.jobs["value"].bind(1), after=[attempt.job.chain_id])
            return done.continue_with(harness.jobs["value"].bind(2), after=[side])

    harness.jobs.job(value)
    job = await _end(harness, charge)

    assert (job.status, job.error.type) == ("failed", "DependencyCycle")
    assert f"{job.id}' waits for" in job.error.message
    assert await _sides(harness) == []


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
