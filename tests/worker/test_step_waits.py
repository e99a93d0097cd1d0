"""Sleeps of a handler: an attempt is suspended, and continues later. Where sleeps and messages are refused."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast import Attempt, Retry, Status, Suspended
from tests.worker.harness import WorkerHarness
from tests.worker.step_runs import run


async def test_a_long_sleep_ends_the_attempt_and_continues_it(harness: WorkerHarness) -> None:
    seen: list[tuple[int, str]] = []

    @harness.jobs.job(retry=Retry(initial=0, max_attempts=1))
    async def work(attempt: Attempt) -> str:
        seen.append((attempt.job.attempt, attempt.claim.token))
        try:
            await attempt.sleep("cool-down", timedelta(hours=1))
        except Exception:  # does not catch Suspended
            return "caught"
        await attempt.sleep_until("until", datetime(2026, 1, 2, tzinfo=UTC))
        await attempt.sleep_until("past", datetime(2020, 1, 2, tzinfo=UTC))
        return "done"

    chain = await harness.start(work.bind())

    assert await run(harness) == ["suspended"]
    job = await harness.job(chain)
    assert (job.status, job.attempt, job.worker) == (Status.PENDING, 0, None)
    assert job.scheduled_at == job.created_at + timedelta(hours=1)
    explanation = await harness.client.explain(chain)
    assert explanation is not None
    assert next(reason.kind for reason in explanation.reasons) == "scheduled"
    assert await harness.client.steps(chain) == []

    assert await run(harness, advance=True) == ["suspended", "completed"]
    assert (await harness.chain(chain)).output == "done"
    assert [number for number, _ in seen] == [1, 1, 1]
    assert len({token for _, token in seen}) == 3
    assert [step.name for step in await harness.client.steps(chain)] == ["cool-down", "until", "past"]
    report = await harness.report(chain)
    assert [attempt.outcome for attempt in report.attempts] == ["suspended", "suspended", "completed"]
    assert [step.name for step in report.steps] == ["cool-down", "until", "past"]


async def test_a_short_sleep_waits_in_place(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        await attempt.sleep("short", 4)
        return "done"

    chain = await harness.start(work.bind())

    assert await run(harness, advance=True) == ["completed"]
    assert (await harness.job(chain)).created_at + timedelta(seconds=4) == (await harness.job(chain)).finished_at


async def test_run_now_ends_a_sleep_and_not_a_receive(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        await attempt.sleep("nap", 3600)
        return await attempt.receive("label", str)

    chain = await harness.start(work.bind())
    await run(harness)
    await harness.client.run_now(chain)

    assert await run(harness) == ["suspended"]
    before = await harness.job(chain)
    await harness.client.run_now(chain)
    assert await harness.job(chain) == before
    assert await run(harness, advance=True) == []


async def test_a_handler_that_swallows_suspended_fails_the_attempt(harness: WorkerHarness) -> None:
    @harness.jobs.job(retry=Retry(initial=0, max_attempts=1))
    async def work(attempt: Attempt) -> str:
        try:
            await attempt.sleep("nap", 3600)
        except Suspended:
            return "swallowed"
        return "done"

    chain = await harness.start(work.bind())

    assert await run(harness) == ["failed"]
    assert "Suspended" in str((await harness.chain(chain)).error)


async def test_a_suspension_waits_for_the_other_steps_of_the_attempt(harness: WorkerHarness) -> None:
    done: list[str] = []
    release = asyncio.Event()

    async def slow(name: str) -> str:
        if name == "first":
            await release.wait()
        done.append(name)
        return name

    async def sequence(attempt: Attempt) -> None:
        await attempt.step("first", slow, "first")
        await attempt.step("second", slow, "second")

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(attempt.sleep("nap", 3600))
            group.create_task(sequence(attempt))
            group.create_task(attempt.receive("label", str, timeout=7200))
            asyncio.get_running_loop().call_soon(release.set)
        return "done"

    chain = await harness.start(work.bind())

    assert await run(harness) == ["suspended"]
    assert done == ["first", "second"]
    assert await harness.client.send(chain, "label", "A-17")
    assert await run(harness) == ["suspended"]
    assert await run(harness, advance=True) == ["completed"]
    assert done == ["first", "second"]


async def test_sleep_and_receive_are_refused_inside_a_step_and_a_block(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def work(attempt: Attempt) -> list[str]:
        found: list[str] = []

        async def inner(name: str) -> None:
            for call in (lambda: attempt.sleep(name, 60), lambda: attempt.receive(name, str)):
                try:
                    await call()
                except RuntimeError as error:
                    found.append(str(error))

        async def inner_tx(tx: Any, name: str) -> None:
            await inner(name)

        await attempt.step("step", inner, "in-step")
        await attempt.tx_step("tx", inner_tx, "in-tx")
        async with attempt.prepare():
            await inner("in-prepare")
        async with attempt.complete() as done:
            await inner("in-complete")
            return done.output(found)

    chain = await harness.start(work.bind())

    await run(harness)

    found = (await harness.chain(chain)).output
    assert found is not None
    assert [text.split()[1] for text in found] == [
        name for name in ("'in-step'", "'in-tx'", "'in-prepare'", "'in-complete'") for _ in range(2)
    ]
