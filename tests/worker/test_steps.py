"""Durable steps: results are stored, and a later attempt does not run them again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from holdfast import (
    Attempt,
    Fail,
    MessageTimeout,
    Retry,
    StepTimeout,
    SyncAttempt,
)
from tests.worker.harness import WorkerHarness
from tests.worker.step_runs import Payment, run


async def test_a_later_attempt_gets_the_stored_results(harness: WorkerHarness) -> None:
    calls: list[str] = []

    async def charge(order: int) -> Payment:
        calls.append("charge")
        return Payment(order)

    def label(order: int, *, prefix: str) -> str:
        calls.append("label")
        return f"{prefix}-{order}"

    @harness.jobs.job
    async def fulfil(attempt: Attempt, order: int) -> str:
        payment = await attempt.step("charge", charge, order)
        text = await attempt.step("label", label, order, prefix="A")
        calls.append("between")
        if attempt.job.attempt < 3:
            raise ValueError("no luck")
        return f"{payment.id} {text}"

    chain = await harness.start(fulfil.bind(7))

    assert await run(harness) == ["retrying", "retrying", "completed"]
    assert (await harness.chain(chain)).output == "7 A-7"
    assert calls == ["charge", "label", "between", "between", "between"]
    steps = await harness.client.steps(chain)
    assert [(step.name, step.each, step.result, step.error, step.attempt) for step in steps] == [
        ("charge", None, {"id": 7}, None, 1),
        ("label", None, "A-7", None, 1),
    ]
    assert all(step.started_at <= step.finished_at for step in steps)


async def test_steps_run_concurrently_and_share_a_name_with_each(harness: WorkerHarness) -> None:
    calls: list[int] = []

    async def double(number: int) -> int:
        calls.append(number)
        await asyncio.sleep(0)
        return 2 * number

    @harness.jobs.job
    async def work(attempt: Attempt) -> list[int]:
        found = await asyncio.gather(*(attempt.step("double", double, n, each=n) for n in range(5)))
        if attempt.job.attempt == 1:
            raise ValueError("no luck")
        return found

    chain = await harness.start(work.bind())

    await run(harness)

    assert (await harness.chain(chain)).output == [0, 2, 4, 6, 8]
    assert sorted(calls) == [0, 1, 2, 3, 4]
    assert sorted(step.each for step in await harness.client.steps(chain)) == [0, 1, 2, 3, 4]


async def test_a_name_that_is_used_twice_is_an_error_at_the_call(harness: WorkerHarness) -> None:
    async def nothing() -> None: ...

    @harness.jobs.job
    async def work(attempt: Attempt) -> list[str]:
        found: list[str] = []
        await attempt.step("a", nothing)
        await attempt.step("b", nothing, each=1)
        await attempt.step("b", nothing, each=2)
        calls: list[Callable[[], object]] = [
            lambda: attempt.step("a", nothing),
            lambda: attempt.sleep("a", 1),
            lambda: attempt.receive("a", int),
            lambda: attempt.cursor("a", list[int]()),
            lambda: attempt.step("b", nothing, each=2),
        ]
        for call in calls:
            try:
                call()
            except RuntimeError as error:
                found.append(str(error))
        return found

    chain = await harness.start(work.bind())

    await run(harness)

    found = (await harness.chain(chain)).output
    assert found is not None
    assert len(found) == 5
    assert all("used twice" in each for each in found)


async def test_a_failed_step_stores_its_error_and_runs_again(harness: WorkerHarness) -> None:
    calls: list[int] = []

    async def flaky() -> int:
        calls.append(len(calls))
        if len(calls) < 3:
            raise ValueError(f"try {len(calls)}")
        return len(calls)

    @harness.jobs.job
    async def work(attempt: Attempt) -> int:
        return await attempt.step("flaky", flaky)

    chain = await harness.start(work.bind())
    worker = harness.worker(retry=Retry(initial=3600, jitter=0))
    async with worker:
        await harness.ended(chain)

        (step,) = await harness.client.steps(chain)
        assert (step.result, str(step.error), step.attempt) == (None, "ValueError: try 1", 1)
        assert "flaky" in (step.error.traceback if step.error else "")
    harness.clock.advance(3600)

    await run(harness)

    (step,) = await harness.client.steps(chain)
    assert (step.result, step.error, step.attempt) == (3, None, 3)


async def test_a_step_has_its_own_retry_and_timeout_within_the_attempt(harness: WorkerHarness) -> None:
    calls: list[str] = []

    async def flaky() -> str:
        calls.append("flaky")
        if calls.count("flaky") < 3:
            raise ValueError("no luck")
        return "done"

    async def hang() -> None:
        calls.append("hang")
        await asyncio.sleep(60)

    async def final() -> None:
        calls.append("final")
        raise Fail("for good")

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        again = Retry(initial=0, jitter=0, max_attempts=5)
        done = await attempt.step("flaky", flaky, retry=again)
        with pytest.raises(StepTimeout, match="'hang' took longer than"):
            await attempt.step("hang", hang, retry=Retry(initial=0, max_attempts=2), timeout=0.01)
        with pytest.raises(Fail):
            await attempt.step("final", final, retry=again)
        return done

    chain = await harness.start(work.bind())

    assert await run(harness) == ["completed"]
    assert calls == ["flaky"] * 3 + ["hang"] * 2 + ["final"]
    errors = {step.name: step.error and step.error.type for step in await harness.client.steps(chain)}
    assert errors == {"flaky": None, "hang": "StepTimeout", "final": "Fail"}


async def test_step_id_is_stable_until_a_retry_from_the_step(harness: WorkerHarness) -> None:
    seen: list[tuple[str, str, str]] = []

    async def nothing() -> None: ...

    @harness.jobs.job(retry=Retry(initial=0, max_attempts=2))
    async def work(attempt: Attempt) -> None:
        seen.append((attempt.step_id("charge"), attempt.step_id("charge", each=1), attempt.step_id("ship")))
        await attempt.step("charge", nothing)
        await attempt.step("ship", nothing)
        raise ValueError("no luck")

    chain = await harness.start(work.bind())
    await run(harness)
    await harness.client.retry(chain)
    await run(harness)
    assert len(seen) == 4
    assert len(set(seen)) == 1
    assert len(set(seen[0])) == 3

    await harness.client.retry(chain, from_step="ship")
    await run(harness)

    before, after = seen[0], seen[-1]
    assert (before[0] == after[0], before[2] == after[2]) == (True, False)
    assert seen[-1] == seen[-2]


async def test_plain_handlers_have_the_same_steps(harness: WorkerHarness) -> None:
    calls: list[str] = []

    def charge(order: int) -> Payment:
        calls.append("charge")
        return Payment(order)

    def hang() -> None:
        import time

        time.sleep(0.3)

    @harness.jobs.job
    def work(attempt: SyncAttempt, order: int) -> str:
        payment = attempt.step("charge", charge, order)
        attempt.tx_step("reserve", lambda tx, n: calls.append("reserve"), 1)
        calls.extend(f"row {row}" for row in attempt.cursor("rows", range(3), every=1))
        with pytest.raises(StepTimeout):
            attempt.step("hang", hang, timeout=0.01)
        with pytest.raises(RuntimeError, match="used twice"):
            attempt.step("charge", charge, order)
        attempt.sleep("short", 0)
        attempt.sleep("nap", 3600)
        label = attempt.receive("label", str)
        with pytest.raises(MessageTimeout):
            attempt.receive("never", str, timeout=0.01)
        return f"{payment.id} {label} {len(attempt.step_id('charge'))}"

    chain = await harness.start(work.bind(7))

    assert await run(harness) == ["suspended"]
    harness.clock.advance(3600)
    assert await run(harness) == ["suspended"]
    await harness.client.send(chain, "label", "A-17")
    assert await run(harness) == ["completed"]
    assert (await harness.chain(chain)).output == "7 A-17 32"
    assert calls == ["charge", "reserve", "row 0", "row 1", "row 2"]


async def test_a_stale_attempt_stores_no_step(harness: WorkerHarness) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def charge() -> str:
        return "stale"

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        if not begun.is_set():
            begun.set()
            while not go_on.is_set():
                with suppress(asyncio.CancelledError):  # continue although the attempt is aborted
                    await asyncio.sleep(0.01)
            await attempt.step("charge", charge)
        return "done"

    chain = await harness.start(work.bind())
    async with harness.worker():
        await begun.wait()
        harness.reaped("work")
        go_on.set()
        assert await harness.client.wait(chain, timeout=30) == "done"
    assert await harness.client.steps(chain) == []
