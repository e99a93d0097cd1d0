"""explain: every kind of reason, from the state of the job, its type and the live workers."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Explanation, Fail, Order, Reason, Retry
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import ClaimJobs, DrainWorker, ReportWorker, TypeTerms
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, in_time, value

RETRY = Retry(initial=10, jitter=0, max_attempts=3)


async def _explained(harness: ClientHarness, subject: Any) -> Explanation:
    explanation: Explanation | None = await harness.client.explain(subject)
    assert explanation is not None
    return explanation


async def _kinds(harness: ClientHarness, subject: Any) -> list[str]:
    return [reason.kind for reason in (await _explained(harness, subject)).reasons]


async def _live(harness: ClientHarness, id: str = "one", *, types: tuple[str, ...] = ("value",), **fields: Any) -> None:
    """Report a live worker that claims nothing."""
    await harness.store.perform(
        ReportWorker(WorkerRecord(id, "host", 1, types, fields.pop("concurrency", 1), **fields))
    )


async def _until_kind(harness: ClientHarness, subject: Any, kind: str) -> Explanation:
    while True:
        explanation = await _explained(harness, subject)
        if explanation.reasons[0].kind == kind:
            return explanation
        await asyncio.sleep(0.01)


async def test_an_unknown_job_has_no_explanation(harness: ClientHarness) -> None:
    assert await harness.client.explain("unknown") is None
    with pytest.raises(TypeError):
        await harness.client.explain(7)


async def test_a_due_job_without_a_worker(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    explanation = await _explained(harness, chain)

    assert explanation.reasons == [Reason("no_worker", "No live worker runs jobs of the type `value`.")]
    assert explanation.claimable
    assert explanation.text == explanation.reasons[0].text
    assert explanation.job.id == chain.id


async def test_a_scheduled_job(harness: ClientHarness) -> None:
    await _live(harness)
    chain = await harness.client.start(harness.jobs.job(value).bind(1), delay=60)

    (reason,) = (await _explained(harness, chain.id)).reasons

    assert (reason.kind, reason.until) == ("scheduled", harness.time + timedelta(seconds=60))
    assert not (await _explained(harness, chain)).claimable
    harness.clock.advance(60)
    await _live(harness, "two")
    assert await _kinds(harness, chain) == ["queued"]


async def test_a_job_that_is_retried(harness: ClientHarness) -> None:
    async def value(attempt: AttemptAdapter, number: int) -> None:
        raise ValueError("no luck")

    chain = await harness.client.start(harness.job(value, retry=RETRY).bind(1))
    await harness.drain()
    await _live(harness)

    explanation = await _explained(harness, chain)

    (reason,) = explanation.reasons
    assert (reason.kind, reason.until) == ("retrying", harness.time + timedelta(seconds=10))
    assert "Attempt 1 of 3 did not complete: ValueError: no luck." in reason.text
    assert not explanation.claimable


async def test_a_job_whose_input_did_not_match(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    vars(harness.jobs)["_types"].clear()  # a worker with another signature, as after an incomplete deployment

    @harness.jobs.job(name="value")
    async def changed(number: int, other: str) -> None: ...

    await harness.drain()
    await _live(harness)

    (reason,) = (await _explained(harness, chain)).reasons

    assert reason.kind == "retrying"
    assert reason.until is not None
    assert "did not match the handler of the worker, once" in reason.text
    assert "other" in reason.text


async def test_a_blocked_job_names_its_blockers(harness: ClientHarness) -> None:
    await _live(harness)
    double = harness.jobs.job(value)
    blockers = [await harness.client.start(double.bind(n), delay=60) for n in range(12)]
    chain = await harness.client.start(double.bind(1), after=blockers)

    explanation = await _explained(harness, chain)

    (reason,) = explanation.reasons
    assert reason.kind == "blocked"
    assert reason.text.startswith(f"It waits for 12 chains to complete: {blockers[0].id} (value, pending), ")
    assert reason.text.endswith(f"{blockers[9].id} (value, pending) and 2 more.")
    assert not explanation.claimable


async def test_a_paused_type(harness: ClientHarness) -> None:
    await _live(harness)
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    await harness.client.pause("value")

    assert await _kinds(harness, chain) == ["paused"]
    assert not (await _explained(harness, chain)).claimable
    assert "holdfast resume value" in (await _explained(harness, chain)).text

    await harness.client.resume("value")
    assert await _kinds(harness, chain) == ["queued"]


async def test_all_reasons_are_listed_the_most_specific_first(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1))
    chain = await harness.client.start(double.bind(1), after=[blocker], delay=60)
    await harness.client.pause("value")

    assert await _kinds(harness, chain) == ["blocked", "scheduled", "paused", "no_worker"]
    assert await _kinds(harness, blocker) == ["paused", "no_worker"]


async def test_a_queued_job_and_the_jobs_ahead_of_it(harness: ClientHarness) -> None:
    await _live(harness)
    double = harness.jobs.job(value)
    first, second, third = [await harness.client.start(double.bind(n)) for n in range(3)]

    explanations = [await _explained(harness, chain) for chain in (first, second, third)]

    assert [each.reasons[0].kind for each in explanations] == ["queued"] * 3
    assert "It is the next job of its type. 1 live worker runs the type." in explanations[0].text
    assert "1 job of its type is ahead of it." in explanations[1].text
    assert "2 jobs of its type are ahead of it." in explanations[2].text
    assert all(each.claimable for each in explanations)


async def test_a_worker_that_drains_or_is_gone_does_not_count(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    await _live(harness)
    assert await _kinds(harness, chain) == ["queued"]

    await harness.store.perform(DrainWorker("one"))
    assert (await _explained(harness, chain)).reasons == [
        Reason("no_worker", "No live worker runs jobs of the type `value`. One that runs it drains.")
    ]

    await _live(harness, "two")
    assert await _kinds(harness, chain) == ["queued"]
    harness.clock.advance(91)
    assert await _kinds(harness, chain) == ["no_worker"]


async def test_a_running_job_and_a_job_behind_busy_workers(harness: ClientHarness) -> None:
    begun, free = asyncio.Event(), asyncio.Event()

    @harness.jobs.job
    async def hold() -> None:
        begun.set()
        await free.wait()

    running, waiting = await harness.client.start(hold.bind()), await harness.client.start(hold.bind())
    async with harness.worker(concurrency=1, worker_id="one"):
        await in_time(begun.wait())
        busy = await in_time(_until_kind(harness, waiting, "busy"))
        explanation = await _explained(harness, running)
        free.set()

    assert busy.claimable
    assert "1 live worker runs the type `hold`, and its only slot is in use." in busy.text
    assert [reason.kind for reason in explanation.reasons] == ["running"]
    assert explanation.text.startswith("Worker one runs attempt 1 since ")
    assert "not live" not in explanation.text
    assert not explanation.claimable


async def test_a_running_job_of_a_worker_that_is_gone(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    await _claim(harness)

    assert "This worker is not live." in (await _explained(harness, chain)).text

    harness.clock.advance(31)
    assert "Its lease expired at " in (await _explained(harness, chain)).text


async def _claim(harness: ClientHarness) -> None:
    await harness.store.perform(ClaimJobs((TypeTerms("value", 30_000_000, 3),), 1, "gone", "token"))


async def test_a_finished_job(harness: ClientHarness) -> None:
    async def value(attempt: AttemptAdapter, number: int) -> None:
        raise ValueError("no luck")

    failing = harness.job(value, retry=Retry(max_attempts=1))
    failed = await harness.client.start(failing.bind(1))
    await harness.drain()
    cancelled = await harness.client.start(failing.bind(1))
    await harness.client.cancel(cancelled, reason="not needed")

    for chain, text in ((failed, "It failed at "), (cancelled, "It was cancelled at ")):
        explanation = await _explained(harness, chain)
        assert [reason.kind for reason in explanation.reasons] == ["finished"]
        assert explanation.text.startswith(text)
        assert not explanation.claimable
    assert "ValueError: no luck" in (await _explained(harness, failed)).text


async def test_a_job_object_means_this_job_and_a_chain_its_current_one(harness: ClientHarness) -> None:
    last = harness.jobs.job(name="last")(value)

    @harness.jobs.job
    async def first() -> Any:
        return last.bind(1).options(delay=60)

    chain = await harness.client.start(first.bind())
    await harness.drain()

    assert (await _explained(harness, chain)).job.type == "last"
    assert (await _explained(harness, chain.first_job)).job.type == "first"
    assert await _kinds(harness, chain.first_job) == ["finished"]


async def test_a_type_that_this_client_declares_without_a_handler(harness: ClientHarness) -> None:
    @harness.jobs.declare
    async def approve() -> None: ...

    chain = await harness.client.start(approve.bind())

    assert await _kinds(harness, chain) == ["external"]
    assert not (await _explained(harness, chain)).claimable

    await _live(harness, types=("approve",))
    assert await _kinds(harness, chain) == ["queued"]


async def test_a_type_that_a_live_worker_declares_without_a_handler(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    vars(harness.jobs)["_types"].clear()
    assert await _kinds(harness, chain) == ["no_worker"]

    await _live(harness, types=("other",), details='{"external": ["value"]}')

    assert await _kinds(harness, chain) == ["external"]


async def test_a_failed_job_that_holds_an_order(harness: ClientHarness) -> None:
    account = Order("account", by="number")

    async def fail(number: int) -> int:
        raise Fail("on purpose")

    failing = await harness.client.start(harness.jobs.job(limits=[account])(fail).bind(7))
    waiting = await harness.client.start(harness.jobs.job(limits=[account])(value).bind(7))
    await harness.drain()
    await _live(harness)

    explanation = await _explained(harness, waiting)
    assert explanation.reasons == [
        Reason(
            "order",
            f"The order 'account', key '7' runs one job at a time. Job {failing.id} failed and holds it: "
            "later jobs wait until it is retried, deleted or skipped.",
        )
    ]
    assert not explanation.claimable
    _, held = (await _explained(harness, failing)).reasons
    assert held == Reason(
        "order", "It holds the order 'account', key '7': later jobs wait until it is retried, deleted or skipped."
    )

    await harness.client.skip(failing.id)
    assert await _kinds(harness, failing) == ["finished"]
    assert await _kinds(harness, waiting) == ["queued"]


async def test_a_scheduled_job_in_front_of_an_order(harness: ClientHarness) -> None:
    double = harness.jobs.job(limits=[Order("account")])(value)
    first = await harness.client.start(double.bind(1), delay=60)
    second = await harness.client.start(double.bind(2))
    await _live(harness)
    await harness.drain()

    (reason,) = (await _explained(harness, second)).reasons

    assert reason == Reason(
        "order",
        f"The order 'account' runs one job at a time. Job {first.id} of chain {first.id} is in front of it and is "
        "pending.",
    )
