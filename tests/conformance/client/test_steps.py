"""Durable steps on every store: stored results, sleeps, messages and cursors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast import (
    AlreadyCompleted,
    ChainNotFound,
    MessageTimeout,
    NotPending,
    PayloadRefused,
    Retry,
    Status,
    StepNotFound,
)
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, in_time

ONCE, TWICE = Retry(initial=0, jitter=0, max_attempts=1), Retry(initial=0, jitter=0, max_attempts=2)


async def _kinds(harness: ClientHarness, **options: Any) -> list[str]:
    return [event.kind for event in await harness.drain(timeout=30, **options)]


async def test_a_handler_continues_after_a_failure_a_sleep_and_a_message(harness: ClientHarness) -> None:
    calls: list[str] = []

    def charge(order: int) -> dict[str, int]:
        calls.append("charge")
        return {"order": order}

    def reserve(tx: Any, order: int) -> int:
        calls.append("reserve")
        return order

    async def fulfil(attempt: AttemptAdapter, order: int) -> Any:
        payment = await attempt.call("step", "charge", charge, order)
        shelf = await attempt.call("tx_step", "reserve", reserve, order)
        calls.append("between")
        if attempt.job.attempt == 1:
            raise ValueError("no luck")
        calls.extend([f"row {row}" async for row in attempt.rows("rows", range(2))])
        await attempt.call("sleep", "cool-down", 3600)
        label = await attempt.call("receive", "label-printed", str, timeout=86400)
        return [payment["order"], shelf, label, attempt.job.attempt]

    job = harness.job(fulfil, retry=TWICE)
    chain = await harness.client.start(job.bind(7))

    assert await _kinds(harness) == ["retrying", "suspended"]
    assert (await harness.now(chain)).scheduled_at == harness.time + timedelta(hours=1)
    harness.clock.advance(3600)
    assert await _kinds(harness) == ["suspended"]
    explanation = await harness.client.explain(chain)
    assert [reason.kind for reason in explanation.reasons][:1] == ["message"]
    assert explanation.reasons[0].until == harness.time + timedelta(days=1)
    assert not explanation.claimable

    assert await harness.client.send(chain, "label-printed", "A-17")
    assert not await harness.client.send(chain, "label-printed", "B-18")
    assert await _kinds(harness) == ["completed"]

    assert (await harness.client.get(chain)).output == [7, 7, "A-17", 2]
    assert calls == ["charge", "reserve", "between", "between", "row 0", "row 1", "between", "between"]
    steps = await harness.client.steps(chain)
    assert [(step.name, step.result, step.attempt) for step in steps] == [
        ("charge", {"order": 7}, 1), ("reserve", 7, 1), ("rows", 2, 2), ("cool-down", None, 2),
        ("label-printed", "A-17", 2),
    ]  # fmt: skip
    assert all(step.started_at <= step.finished_at for step in steps)
    report = await harness.client.report(chain.id)
    assert [attempt.outcome for attempt in report.attempts] == ["failed", "suspended", "suspended", "completed"]
    assert list(report.steps) == list(steps)
    with pytest.raises(AlreadyCompleted):
        await harness.client.send(chain, "late", 1)
    await harness.client.delete([chain.id])
    assert await harness.client.steps(chain.id) == []


async def test_a_retry_from_a_step_runs_it_and_the_later_ones_again(harness: ClientHarness) -> None:
    calls: list[str] = []
    ids: list[list[str]] = []

    async def work(attempt: AttemptAdapter, number: int) -> Any:
        names = ("charge", "approved", "ship")
        ids.append([attempt.attempt.step_id(name) for name in names])
        await attempt.call("step", "charge", calls.append, "charge")
        approved = await attempt.call("receive", "approved", bool)
        await attempt.call("step", "ship", calls.append, "ship", each=number)
        if not approved:
            raise ValueError("refused")
        return "done"

    job = harness.job(work, retry=ONCE)
    chain = await harness.client.start(job.bind(1))
    await harness.client.send(chain, "approved", False)
    await harness.drain()
    assert (await harness.client.get(chain)).status is Status.FAILED

    with pytest.raises(StepNotFound) as raised:
        await harness.client.retry(chain, from_step="unknown")
    assert (raised.value.job_id, raised.value.name) == (chain.id, "unknown")
    await harness.client.retry(chain, from_step="approved")
    with pytest.raises(NotPending):
        await harness.client.retry(chain, from_step="charge")
    assert [step.name for step in await harness.client.steps(chain)] == ["charge"]
    assert await harness.client.send(chain, "approved", True)
    await harness.drain()

    assert (await harness.client.get(chain)).output == "done"
    assert calls == ["charge", "ship", "ship"]
    assert [step.each for step in await harness.client.steps(chain)] == [None, None, 1]
    first, second = ids
    assert [one == other for one, other in zip(first, second, strict=True)] == [True, False, False]


async def test_a_message_wakes_a_worker(harness: ClientHarness) -> None:
    async def work(attempt: AttemptAdapter, number: int) -> Any:
        return await attempt.call("receive", "go", dict[str, int])

    job = harness.job(work)
    chain = await harness.client.start(job.bind(1))
    await harness.drain()
    async with harness.worker(poll_interval=60):
        await harness.client.send(chain, "go", {"a": 1})

        assert await in_time(harness.client.wait(chain)) == {"a": 1}


async def test_messages_that_are_refused(harness: ClientHarness) -> None:
    async def work(attempt: AttemptAdapter, number: int) -> Any: ...

    chain = await harness.client.start(harness.job(work).bind(1))

    with pytest.raises(ChainNotFound):
        await harness.client.send("unknown", "name", 1)
    with pytest.raises(PayloadRefused, match="message 'name'"):
        await harness.client.send(chain, "name", object())
    for name in ("", "x" * 201, "a\0"):
        with pytest.raises(ValueError, match="1 to 200"):
            await harness.client.send(chain, name, 1)
    assert await harness.client.send(chain, "x" * 200, {"text": "\u00e9 '\"\n", "n": [1, None, True]})


@pytest.mark.parametrize("timeout", [None, 3600])
async def test_a_job_that_waits_for_a_message_is_due_at_its_timeout_or_not_at_all(
    harness: ClientHarness, timeout: float | None
) -> None:
    async def waiting(attempt: AttemptAdapter, number: int) -> Any:
        return await attempt.call("receive", "go", str, timeout=timeout)

    chain = await harness.client.start(harness.job(waiting).bind(7))
    assert await _kinds(harness) == ["suspended"]

    due = None if timeout is None else harness.time + timedelta(seconds=timeout)
    found, explanation = await harness.client.get(chain), await harness.client.explain(chain)
    report = await harness.client.report(chain.id)
    assert (found.scheduled_at, found.job.scheduled_at, report.attempts[0].next_at) == (due, due, due)
    assert (list(explanation.messages), explanation.message_timeout) == (["go"], due)
    assert explanation.reasons[0].until == due

    await harness.client.cancel(chain)
    assert (await harness.now(chain)).scheduled_at == due
    assert not (await harness.client.explain(chain)).messages


async def test_a_timeout_of_a_receive_counts_from_the_first_wait(harness: ClientHarness) -> None:
    async def work(attempt: AttemptAdapter, number: int) -> Any:
        try:
            return await attempt.call("receive", "go", str, timeout=100)
        except MessageTimeout as error:
            return str(error)

    job = harness.job(work)
    chain = await harness.client.start(job.bind(1))
    await harness.drain()
    due = harness.time + timedelta(seconds=100)
    for _ in range(2):  # a crash after the claim does not begin the time again
        harness.clock.advance(40)
        assert (await harness.now(chain)).scheduled_at == due

    assert await _kinds(harness, advance=True) == ["completed"]
    assert (await harness.client.get(chain)).output == "no message 'go' arrived in time"
    assert (await harness.now(chain)).finished_at == due


async def test_suspended_jobs_release_their_limit(harness: ClientHarness) -> None:
    from holdfast import Limit, Rate

    running: list[int] = []

    async def work(attempt: AttemptAdapter, number: int) -> Any:
        running.append(number)
        await attempt.call("sleep", "nap", 60)
        return number

    job = harness.job(work, limits=[Limit("one", 1), Rate("rate", 1, per=3600, burst=3)])
    chains = [await harness.client.start(job.bind(number)) for number in range(3)]

    assert await _kinds(harness) == ["suspended"] * 3
    assert sorted(running) == [0, 1, 2]
    harness.clock.advance(60)
    assert await _kinds(harness) == ["completed"] * 3
    assert [(await harness.client.get(chain)).output for chain in chains] == [0, 1, 2]


async def test_the_timeout_of_the_type_counts_from_each_claim(harness: ClientHarness) -> None:
    async def work(attempt: AttemptAdapter, number: int) -> Any:
        for nap in range(3):
            await attempt.call("sleep", "nap", 3600, each=nap)
        return number

    job = harness.job(work, timeout=1800, retry=ONCE)
    chain = await harness.client.start(job.bind(7))

    assert await _kinds(harness, advance=True) == ["suspended"] * 3 + ["completed"]
    assert (await harness.client.get(chain)).output == 7


async def test_a_cancelled_job_keeps_its_steps_and_continues_after_a_retry(harness: ClientHarness) -> None:
    calls: list[int] = []

    async def work(attempt: AttemptAdapter, number: int) -> Any:
        await attempt.call("step", "charge", calls.append, number)
        return await attempt.call("receive", "go", str)

    job = harness.job(work)
    chain = await harness.client.start(job.bind(7))
    assert await _kinds(harness) == ["suspended"]

    await harness.client.cancel(chain)
    with pytest.raises(AlreadyCompleted):
        await harness.client.send(chain, "go", "late")
    assert await _kinds(harness, advance=True) == []
    await harness.client.retry(chain)
    assert await _kinds(harness) == ["suspended"]
    assert await harness.client.send(chain, "go", "now")

    assert await _kinds(harness) == ["completed"]
    assert ((await harness.client.get(chain)).output, calls) == ("now", [7])


async def test_another_version_of_the_handler_finds_the_steps_by_their_names(harness: ClientHarness) -> None:
    calls: list[str] = []

    async def work(attempt: AttemptAdapter, number: int) -> Any:
        # The first attempt is the old version. The new one has another step, and another order.
        names = ("charge", "reserve") if attempt.job.attempt == 1 else ("check", "reserve", "charge")
        for name in names:
            await attempt.call("step", name, calls.append, name)
        if attempt.job.attempt == 1:
            raise ConnectionError("the deployment stopped the worker")
        return number

    job = harness.job(work, retry=TWICE)
    chain = await harness.client.start(job.bind(7))
    await harness.drain(advance=True)

    assert (await harness.client.get(chain)).output == 7
    assert calls == ["charge", "reserve", "check"]
