"""wait: subscribe, read, sleep, and read again until the chain has ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Cancel, ChainCancelled, ChainFailed, ChainNotFound, ErrorText, Fail, WaitTimeout
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, in_time, value


async def test_the_output_of_a_chain_that_is_finished(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    chain = await harness.client.start(double.bind(42))
    await harness.drain()

    assert await harness.client.wait(chain) == 42
    assert await harness.client.wait(chain.id, timeout=0) == 42


async def test_many_waiters_get_the_same_output(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    chain = await harness.client.start(double.bind(42))

    waiting = [asyncio.create_task(harness.client.wait(chain, timeout=60)) for _ in range(10)]
    await _subscribed(harness)
    async with harness.worker():
        assert await in_time(asyncio.gather(*waiting)) == [42] * 10


async def _complete(harness: ClientHarness, chain: Any) -> None:
    async with harness.client.completing(chain) as current:
        await current.output(7)


async def _cancel(harness: ClientHarness, chain: Any) -> None:
    await harness.client.cancel(chain, reason="not needed")


async def _delete(harness: ClientHarness, chain: Any) -> None:
    await harness.client.delete([chain])


@pytest.mark.parametrize(
    ("end", "outcome"),
    [(_complete, 7), (_cancel, ChainCancelled), (_delete, ChainNotFound)],
    ids=["completed", "cancelled", "deleted"],
)
async def test_a_wait_ends_when_the_chain_does(harness: ClientHarness, end: Any, outcome: Any) -> None:
    double = harness.jobs.job(value)
    chain = await harness.client.start(double.bind(1))
    waiting = asyncio.create_task(harness.client.wait(chain, timeout=60))
    await _subscribed(harness)

    await end(harness, chain)

    if outcome == 7:
        assert await in_time(waiting) == 7
    else:
        with pytest.raises(outcome):
            await in_time(waiting)


async def _subscribed(harness: ClientHarness) -> None:
    """Let new tasks reach their first read. They need no wake-up before it, but each one after it."""
    for _ in range(3):
        await harness.client.get("nothing")


async def test_a_failed_chain_raises_with_the_error(harness: ClientHarness) -> None:
    async def fail(attempt: AttemptAdapter, number: int) -> None:
        raise Fail("out of paper")

    chain = await harness.client.start(harness.job(fail).bind())
    await harness.drain()

    with pytest.raises(ChainFailed, match="out of paper") as raised:
        await harness.client.wait(chain)
    assert raised.value.chain_id == chain.id
    error = raised.value.error
    assert isinstance(error, ErrorText)
    assert error == "Fail: out of paper"
    assert "Traceback" in error.traceback


async def test_a_cancelled_chain_raises_with_the_reason(harness: ClientHarness) -> None:
    async def cancel(attempt: AttemptAdapter, number: int) -> None:
        raise Cancel("the order was withdrawn")

    chain = await harness.client.start(harness.job(cancel).bind())
    await harness.drain()

    with pytest.raises(ChainCancelled, match="withdrawn"):
        await harness.client.wait(chain)


@pytest.mark.parametrize("timeout", [0, 0.05])
async def test_a_wait_that_takes_too_long_does_not_change_the_chain(harness: ClientHarness, timeout: float) -> None:
    double = harness.jobs.job(value)
    chain = await harness.client.start(double.bind(1))

    with pytest.raises(WaitTimeout) as raised:
        await harness.client.wait(chain, timeout=timeout)
    assert isinstance(raised.value, TimeoutError)
    assert raised.value.chain_id == chain.id

    await harness.drain()
    assert await harness.client.wait(chain) == 1


async def test_an_unknown_chain(harness: ClientHarness) -> None:
    with pytest.raises(ChainNotFound):
        await harness.client.wait("nothing", timeout=60)


async def test_a_wait_continues_over_continuations_and_failed_attempts(harness: ClientHarness) -> None:
    async def step(attempt: AttemptAdapter, number: int) -> Any:
        if attempt.job.attempt == 1:
            raise ValueError("once")
        return stepping.bind(number - 1) if number else "there"

    stepping = harness.job(step)
    chain = await harness.client.start(stepping.bind(2))
    waiting = asyncio.create_task(harness.client.wait(chain, timeout=60))
    await harness.drain(advance=True)

    assert await in_time(waiting) == "there"


async def test_waiting_for_a_chain_before_and_while_it_runs(harness: ClientHarness) -> None:
    running, go_on = asyncio.Event(), asyncio.Event()

    @harness.jobs.job
    async def slow() -> str:
        running.set()
        await go_on.wait()
        return "done"

    chain = await harness.client.start(slow.bind())
    async with harness.worker():
        before = asyncio.create_task(harness.client.wait(chain, timeout=60))
        await in_time(running.wait())
        meanwhile = asyncio.create_task(harness.client.wait(chain, timeout=60))
        await _subscribed(harness)
        go_on.set()
        assert await in_time(asyncio.gather(before, meanwhile)) == ["done", "done"]


async def test_a_hundred_chains_waited_for_at_once(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    chains = await harness.client.start_many([double.bind(number) for number in range(100)])

    async with harness.worker(concurrency=20):
        outputs = [await harness.client.wait(chain, timeout=60) for chain in chains]

    assert outputs == list(range(100))
