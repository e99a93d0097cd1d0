"""A forgotten `.bind(...)` has an error of its own, and a forgotten `await` rolls back the completion."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from holdfast import Attempt, Bound, SyncAttempt
from tests.worker.harness import WorkerHarness


@pytest.fixture
def ship(harness: WorkerHarness) -> Any:
    @harness.jobs.job
    async def ship(order: int) -> str:
        return f"shipped {order}"

    return ship


async def error_of(harness: WorkerHarness, handler: Any) -> str:
    """The error of a handler's only attempt."""
    chain = await harness.start(harness.jobs.job(handler).bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)
    return str((await harness.job(chain)).error)


async def test_a_handler_without_bind_fails_with_advice(harness: WorkerHarness, ship: Any) -> None:
    async def continues(attempt: Attempt) -> str | Bound[str]:
        async with attempt.complete() as done:
            result: Bound[str] = done.continue_with(ship, delay=1)
            return result

    async def starts(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await done.start(ship)
            return done.output("done")

    def starts_in_a_thread(attempt: SyncAttempt) -> str:
        with attempt.complete() as done:
            done.start(ship)
            return done.output("done")

    async def gives() -> str | Bound[str]:
        result: Bound[str] = ship
        return result

    assert await error_of(harness, continues) == "TypeError: ship is a job type; continue with ship.bind(...)"
    assert await error_of(harness, starts) == "TypeError: ship is a job type; start ship.bind(...)"
    assert await error_of(harness, starts_in_a_thread) == "TypeError: ship is a job type; start ship.bind(...)"
    assert (await error_of(harness, gives)).endswith("; to continue with ship, use ship.bind(...)")


async def test_an_external_completion_without_bind_fails_with_advice(harness: WorkerHarness, ship: Any) -> None:
    chain = await harness.start(ship.bind(1))

    async with harness.client.completing(chain) as current:
        with pytest.raises(TypeError, match=r"ship is a job type; continue with ship.bind\(...\)"):
            await current.continue_with(ship)
        with pytest.raises(TypeError, match=r"ship is a job type; start ship.bind\(...\)"):
            await current.start(ship)


async def test_a_side_chain_that_was_not_awaited_rolls_back_the_completion(harness: WorkerHarness, ship: Any) -> None:
    async def forgets(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await done.start(ship.bind(1))
            done.start(ship.bind(2))  # type: ignore[unused-coroutine]  # pyright: ignore[reportUnusedCoroutine]
            return done.output("done")

    error = await error_of(harness, forgets)

    assert error.startswith("RuntimeError: done.start(...) was not awaited")
    assert error.endswith("write `await done.start(...)`")
    assert not (await harness.client.list_chains(type="ship")).items


async def test_side_chains_may_be_started_together(harness: WorkerHarness, ship: Any) -> None:
    async def gathers(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            one, two = await asyncio.gather(done.start(ship.bind(1)), asyncio.create_task(done.start(ship.bind(2))))
            return done.output(f"{one.type} {two.type}")

    chain = await harness.start(harness.jobs.job(gathers).bind())
    async with harness.worker(types=["gathers"]):
        await harness.ended(chain)

    assert (await harness.chain(chain)).output == "ship ship"
    assert len((await harness.client.list_chains(type="ship")).items) == 2


@pytest.mark.parametrize(
    ("call", "arguments"),
    [("step", ("charge", str, 7)), ("tx_step", ("charge", str)), ("sleep", ("pause", 1)), ("receive", ("label", str))],
)
async def test_a_step_that_was_not_awaited_fails_the_attempt(
    harness: WorkerHarness, call: str, arguments: tuple[Any, ...]
) -> None:
    async def forgets(attempt: Attempt) -> str:
        getattr(attempt, call)(*arguments)
        return "done"

    assert await error_of(harness, forgets) == (
        f"RuntimeError: attempt.{call}(...) was not awaited, so it did not run: write `await attempt.{call}(...)`"
    )


async def test_a_step_may_still_run_in_a_task_when_the_handler_returns(harness: WorkerHarness) -> None:
    begun = asyncio.Event()

    async def waits(attempt: Attempt) -> str:
        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(attempt.step("watch", forever))
        await begun.wait()
        task.cancel()
        return "done"

    chain = await harness.start(harness.jobs.job(waits).bind())
    async with harness.worker():
        await harness.ended(chain)

    assert (await harness.chain(chain)).output == "done"


async def test_many_awaited_steps_are_not_kept(harness: WorkerHarness) -> None:
    async def counts(attempt: Attempt) -> int:
        numbers = [await attempt.step("number", int, number, each=number) for number in range(200)]
        return len(numbers)

    chain = await harness.start(harness.jobs.job(counts).bind())
    async with harness.worker():
        await harness.ended(chain)

    assert (await harness.chain(chain)).output == 200


@pytest.mark.parametrize("call", ["output", "continue_with", "start"])
async def test_an_external_completion_that_was_not_awaited_is_rolled_back(
    harness: WorkerHarness, ship: Any, call: str
) -> None:
    chain = await harness.start(ship.bind(1))

    async def forget() -> None:
        async with harness.client.completing(chain) as current:
            getattr(current, call)("shipped" if call == "output" else ship.bind(2))
            await current.output("shipped by hand")

    with pytest.raises(RuntimeError, match=re.escape(f"write `await current.{call}(...)`")):
        await forget()

    assert (await harness.chain(chain)).status == "pending"
    assert len((await harness.client.list_jobs()).items) == 1
