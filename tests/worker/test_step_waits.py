"""Sleeps, messages and cursors of a handler: an attempt is suspended, and continues later."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from holdfast import (
    Attempt,
    MessageTimeout,
    Retry,
    Status,
    Suspended,
)
from holdfast.testing.drain import drain
from tests.worker.harness import WorkerHarness

NO_DELAY = Retry(initial=0, max_attempts=5)


class Payment(msgspec.Struct, frozen=True):
    id: int


async def _run(harness: WorkerHarness, *, advance: bool = False) -> list[str]:
    events = await drain(harness.client, advance=advance, retry=NO_DELAY, timeout=60)
    return [event.kind for event in events]


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

    assert await _run(harness) == ["suspended"]
    job = await harness.job(chain)
    assert (job.status, job.attempt, job.worker) == (Status.PENDING, 0, None)
    assert job.scheduled_at == job.created_at + timedelta(hours=1)
    explanation = await harness.client.explain(chain)
    assert explanation is not None
    assert next(reason.kind for reason in explanation.reasons) == "scheduled"
    assert await harness.client.steps(chain) == []

    assert await _run(harness, advance=True) == ["suspended", "completed"]
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

    assert await _run(harness, advance=True) == ["completed"]
    assert (await harness.job(chain)).created_at + timedelta(seconds=4) == (await harness.job(chain)).finished_at


async def test_run_now_ends_a_sleep_and_not_a_receive(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        await attempt.sleep("nap", 3600)
        return await attempt.receive("label", str)

    chain = await harness.start(work.bind())
    await _run(harness)
    await harness.client.run_now(chain)

    assert await _run(harness) == ["suspended"]
    before = await harness.job(chain)
    await harness.client.run_now(chain)
    assert await harness.job(chain) == before
    assert await _run(harness, advance=True) == []


async def test_a_handler_that_swallows_suspended_fails_the_attempt(harness: WorkerHarness) -> None:
    @harness.jobs.job(retry=Retry(initial=0, max_attempts=1))
    async def work(attempt: Attempt) -> str:
        try:
            await attempt.sleep("nap", 3600)
        except Suspended:
            return "swallowed"
        return "done"

    chain = await harness.start(work.bind())

    assert await _run(harness) == ["failed"]
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

    assert await _run(harness) == ["suspended"]
    assert done == ["first", "second"]
    assert await harness.client.send(chain, "label", "A-17")
    assert await _run(harness) == ["suspended"]
    assert await _run(harness, advance=True) == ["completed"]
    assert done == ["first", "second"]


async def test_a_message_wakes_the_job_and_has_a_type(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def work(attempt: Attempt) -> int:
        payment = await attempt.receive("paid", Payment)
        early = await attempt.receive("early", int | None)
        return payment.id + (early or 0)

    chain = await harness.start(work.bind())
    assert await harness.client.send(chain, "early", 30)
    async with harness.worker():
        await harness.recorder.receive("suspended")
        explanation = await harness.client.explain(chain)
        assert explanation is not None
        assert [reason.kind for reason in explanation.reasons] == ["message"]
        assert not explanation.claimable
        assert "`paid`" in explanation.text

        assert await harness.client.send(chain, "paid", Payment(4))
        assert not await harness.client.send(chain, "paid", Payment(5))

        assert await harness.client.wait(chain, timeout=60) == 34


async def test_a_message_of_the_wrong_type_is_an_error_and_a_retry_from_the_step_removes_it(
    harness: WorkerHarness,
) -> None:
    @harness.jobs.job(retry=Retry(initial=0, max_attempts=1))
    async def work(attempt: Attempt) -> int:
        return await attempt.receive("paid", int)

    chain = await harness.start(work.bind())
    await harness.client.send(chain, "paid", "text")
    assert await _run(harness) == ["failed"]
    assert "--from-step paid" in str((await harness.chain(chain)).error)

    await harness.client.retry(chain, from_step="paid")
    assert await harness.client.send(chain, "paid", 3)

    assert await _run(harness) == ["completed"]


async def test_a_timeout_of_a_receive_is_raised_and_remembered(harness: WorkerHarness) -> None:
    seen: list[str] = []

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        try:
            await attempt.receive("label", str, timeout=86400)
        except MessageTimeout as error:
            seen.append(str(error))
        await attempt.sleep("later", 3600)
        return "done"

    chain = await harness.start(work.bind())
    await _run(harness)
    harness.clock.advance(86400)
    await _run(harness)
    assert await harness.client.send(chain, "label", "late")

    assert await _run(harness, advance=True) == ["completed"]
    assert len(seen) == 2
    label, later = await harness.client.steps(chain)
    assert (label.name, label.error and label.error.type, later.name) == ("label", "MessageTimeout", "later")


async def test_a_short_receive_waits_in_place(harness: WorkerHarness) -> None:
    begun = asyncio.Event()

    @harness.jobs.job
    async def work(attempt: Attempt) -> str:
        begun.set()
        return await attempt.receive("label", str, timeout=4)

    chain = await harness.start(work.bind())
    async with harness.worker():
        await begun.wait()
        await harness.client.send(chain, "label", "A")
        assert await harness.client.wait(chain, timeout=60) == "A"
    assert harness.recorder.find("suspended") == []


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

    await _run(harness)

    found = (await harness.chain(chain)).output
    assert found is not None
    assert [text.split()[1] for text in found] == [
        name for name in ("'in-step'", "'in-tx'", "'in-prepare'", "'in-complete'") for _ in range(2)
    ]


async def test_a_cursor_continues_after_the_last_saved_position(harness: WorkerHarness) -> None:
    seen: list[int] = []

    def after(last: int | None) -> list[int]:
        return list(range(0 if last is None else last + 1, 10))

    @harness.jobs.job
    async def by_count(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", iter(range(10)), every=3):
            seen.append(row)
            if attempt.job.attempt == 1 and row == 7:
                raise ValueError("no luck")

    @harness.jobs.job
    async def by_item(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", after, every=4):
            seen.append(row)
            if attempt.job.attempt == 1 and row == 5:
                raise ValueError("no luck")

    chain = await harness.start(by_count.bind())
    await _run(harness)
    assert seen == [*range(8), *range(6, 10)]
    (step,) = await harness.client.steps(chain)
    assert (step.name, step.result) == ("rows", 10)

    seen.clear()
    await harness.start(by_item.bind())
    await _run(harness)
    assert seen == [*range(6), *range(4, 10)]


async def test_a_suspension_saves_the_position_of_a_cursor(harness: WorkerHarness) -> None:
    seen: list[int] = []

    @harness.jobs.job
    async def work(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", range(4)):
            seen.append(row)
            if row == 2:
                await attempt.sleep("nap", 60)

    await harness.start(work.bind())

    assert await _run(harness, advance=True) == ["suspended", "completed"]
    assert seen == [0, 1, 2, 2, 3]
