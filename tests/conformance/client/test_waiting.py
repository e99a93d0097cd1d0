"""wait: subscribe, look, sleep, and look again; whatever ends the chain ends the wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Cancel, ChainCancelled, ChainFailed, ChainNotFound, ErrorText, Fail, WaitTimeout
from tests.conformance.client.faces import AttemptFace
from tests.conformance.client.scene import Scene, soon, value


async def test_the_output_of_a_chain_that_is_finished(scene: Scene) -> None:
    double = scene.jobs.job(value)
    chain = await scene.client.start(double.bind(42))
    await scene.drain()

    assert await scene.client.wait(chain) == 42
    assert await scene.client.wait(chain.id, timeout=0) == 42


async def test_many_waiters_hear_the_same(scene: Scene) -> None:
    double = scene.jobs.job(value)
    chain = await scene.client.start(double.bind(42))

    waiting = [asyncio.create_task(scene.client.wait(chain, timeout=20)) for _ in range(10)]
    await _subscribed(scene)
    async with scene.worker():
        assert await soon(asyncio.gather(*waiting)) == [42] * 10


async def _complete(scene: Scene, chain: Any) -> None:
    async with scene.client.completing(chain) as current:
        await current.output(7)


async def _cancel(scene: Scene, chain: Any) -> None:
    await scene.client.cancel(chain, reason="not needed")


async def _delete(scene: Scene, chain: Any) -> None:
    await scene.client.delete([chain])


@pytest.mark.parametrize(
    ("end", "outcome"),
    [(_complete, 7), (_cancel, ChainCancelled), (_delete, ChainNotFound)],
    ids=["completed", "cancelled", "deleted"],
)
async def test_a_wait_ends_when_the_chain_does(scene: Scene, end: Any, outcome: Any) -> None:
    double = scene.jobs.job(value)
    chain = await scene.client.start(double.bind(1))
    waiting = asyncio.create_task(scene.client.wait(chain, timeout=20))
    await _subscribed(scene)

    await end(scene, chain)

    if outcome == 7:
        assert await soon(waiting) == 7
    else:
        with pytest.raises(outcome):
            await soon(waiting)


async def _subscribed(scene: Scene) -> None:
    """Let tasks that were just begun come to their first look; a wake-up before it is not needed, one after is."""
    for _ in range(3):
        await scene.client.get("nothing")


async def test_a_failed_chain_tells_why(scene: Scene) -> None:
    async def fail(attempt: AttemptFace, number: int) -> None:
        raise Fail("out of paper")

    chain = await scene.client.start(scene.job(fail).bind())
    await scene.drain()

    with pytest.raises(ChainFailed, match="out of paper") as raised:
        await scene.client.wait(chain)
    assert raised.value.chain_id == chain.id
    error = raised.value.error
    assert isinstance(error, ErrorText)
    assert error == "Fail: out of paper"
    assert "Traceback" in error.traceback


async def test_a_cancelled_chain_tells_why(scene: Scene) -> None:
    async def cancel(attempt: AttemptFace, number: int) -> None:
        raise Cancel("the order was withdrawn")

    chain = await scene.client.start(scene.job(cancel).bind())
    await scene.drain()

    with pytest.raises(ChainCancelled, match="withdrawn"):
        await scene.client.wait(chain)


@pytest.mark.parametrize("timeout", [0, 0.05])
async def test_a_wait_that_takes_too_long_leaves_the_chain_alone(scene: Scene, timeout: float) -> None:
    double = scene.jobs.job(value)
    chain = await scene.client.start(double.bind(1))

    with pytest.raises(WaitTimeout) as raised:
        await scene.client.wait(chain, timeout=timeout)
    assert isinstance(raised.value, TimeoutError)
    assert raised.value.chain_id == chain.id

    await scene.drain()
    assert await scene.client.wait(chain) == 1


async def test_a_chain_that_never_was(scene: Scene) -> None:
    with pytest.raises(ChainNotFound):
        await scene.client.wait("nothing", timeout=1)


async def test_a_wait_goes_on_over_continuations_and_failed_attempts(scene: Scene) -> None:
    async def step(attempt: AttemptFace, number: int) -> Any:
        if attempt.job.attempt == 1:
            raise ValueError("once")
        return stepping.bind(number - 1) if number else "there"

    stepping = scene.job(step)
    chain = await scene.client.start(stepping.bind(2))
    waiting = asyncio.create_task(scene.client.wait(chain, timeout=20))
    await scene.drain(advance=True)

    assert await soon(waiting) == "there"


async def test_waiting_for_a_chain_before_and_while_it_runs(scene: Scene) -> None:
    running, go_on = asyncio.Event(), asyncio.Event()

    @scene.jobs.job
    async def slow() -> str:
        running.set()
        await go_on.wait()
        return "done"

    chain = await scene.client.start(slow.bind())
    async with scene.worker():
        before = asyncio.create_task(scene.client.wait(chain, timeout=20))
        await soon(running.wait())
        meanwhile = asyncio.create_task(scene.client.wait(chain, timeout=20))
        await _subscribed(scene)
        go_on.set()
        assert await soon(asyncio.gather(before, meanwhile)) == ["done", "done"]


async def test_a_hundred_chains_waited_for_at_once(scene: Scene) -> None:
    double = scene.jobs.job(value)
    chains = await scene.client.start_many([double.bind(number) for number in range(100)])

    async with scene.worker(concurrency=20):
        outputs = [await scene.client.wait(chain, timeout=20) for chain in chains]

    assert outputs == list(range(100))
