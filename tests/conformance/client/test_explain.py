"""explain: the reasons that depend on the state of the job, its type and its order."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast import Fail, Order, Reason, Retry
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.explaining import explained, kinds, report_live
from tests.conformance.client.harness import ClientHarness, value

RETRY = Retry(initial=10, jitter=0, max_attempts=3)


async def test_an_unknown_job_has_no_explanation(harness: ClientHarness) -> None:
    assert await harness.client.explain("unknown") is None
    with pytest.raises(TypeError):
        await harness.client.explain(7)


async def test_a_scheduled_job(harness: ClientHarness) -> None:
    await report_live(harness)
    chain = await harness.client.start(harness.jobs.job(value).bind(1), delay=60)

    (reason,) = (await explained(harness, chain.id)).reasons

    assert (reason.kind, reason.until) == ("scheduled", harness.time + timedelta(seconds=60))
    assert not (await explained(harness, chain)).claimable
    harness.clock.advance(60)
    await report_live(harness, "two")
    assert await kinds(harness, chain) == ["queued"]


async def test_a_job_that_is_retried(harness: ClientHarness) -> None:
    async def value(attempt: AttemptAdapter, number: int) -> None:
        raise ValueError("no luck")

    chain = await harness.client.start(harness.job(value, retry=RETRY).bind(1))
    await harness.drain()
    await report_live(harness)

    explanation = await explained(harness, chain)

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
    await report_live(harness)

    (reason,) = (await explained(harness, chain)).reasons

    assert reason.kind == "retrying"
    assert reason.until is not None
    assert "did not match the handler of the worker, once" in reason.text
    assert "other" in reason.text


async def test_a_blocked_job_names_its_blockers(harness: ClientHarness) -> None:
    await report_live(harness)
    double = harness.jobs.job(value)
    blockers = [await harness.client.start(double.bind(n), delay=60) for n in range(12)]
    chain = await harness.client.start(double.bind(1), after=blockers)

    explanation = await explained(harness, chain)

    (reason,) = explanation.reasons
    assert reason.kind == "blocked"
    assert reason.text.startswith(f"It waits for 12 chains to complete: {blockers[0].id} (value, pending), ")
    assert reason.text.endswith(f"{blockers[9].id} (value, pending) and 2 more.")
    assert not explanation.claimable


async def test_a_paused_type(harness: ClientHarness) -> None:
    await report_live(harness)
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    await harness.client.pause("value")

    assert await kinds(harness, chain) == ["paused"]
    assert not (await explained(harness, chain)).claimable
    assert "holdfast resume value" in (await explained(harness, chain)).text

    await harness.client.resume("value")
    assert await kinds(harness, chain) == ["queued"]


async def test_all_reasons_are_listed_the_most_specific_first(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1))
    chain = await harness.client.start(double.bind(1), after=[blocker], delay=60)
    await harness.client.pause("value")

    assert await kinds(harness, chain) == ["blocked", "scheduled", "paused", "no_worker"]
    assert await kinds(harness, blocker) == ["paused", "no_worker"]


async def test_a_finished_job(harness: ClientHarness) -> None:
    async def value(attempt: AttemptAdapter, number: int) -> None:
        raise ValueError("no luck")

    failing = harness.job(value, retry=Retry(max_attempts=1))
    failed = await harness.client.start(failing.bind(1))
    await harness.drain()
    cancelled = await harness.client.start(failing.bind(1))
    await harness.client.cancel(cancelled, reason="not needed")

    for chain, text in ((failed, "It failed at "), (cancelled, "It was cancelled at ")):
        explanation = await explained(harness, chain)
        assert [reason.kind for reason in explanation.reasons] == ["finished"]
        assert explanation.text.startswith(text)
        assert not explanation.claimable
    assert "ValueError: no luck" in (await explained(harness, failed)).text


async def test_a_job_object_means_this_job_and_a_chain_its_current_one(harness: ClientHarness) -> None:
    last = harness.jobs.job(name="last")(value)

    @harness.jobs.job
    async def first() -> Any:
        return last.bind(1).options(delay=60)

    chain = await harness.client.start(first.bind())
    await harness.drain()

    assert (await explained(harness, chain)).job.type == "last"
    assert (await explained(harness, chain.first_job)).job.type == "first"
    assert await kinds(harness, chain.first_job) == ["finished"]


async def test_a_failed_job_that_holds_an_order(harness: ClientHarness) -> None:
    account = Order("account", by="number")

    async def fail(number: int) -> int:
        raise Fail("on purpose")

    failing = await harness.client.start(harness.jobs.job(limits=[account])(fail).bind(7))
    waiting = await harness.client.start(harness.jobs.job(limits=[account])(value).bind(7))
    await harness.drain()
    await report_live(harness)

    explanation = await explained(harness, waiting)
    later = f"later jobs wait until it is retried, deleted or skipped (`holdfast skip {failing.id}`)."
    assert explanation.reasons == [
        Reason(
            "order",
            f"The order 'account', key '7' runs one job at a time. Job {failing.id} failed and holds it: {later}",
        )
    ]
    assert not explanation.claimable
    _, held = (await explained(harness, failing)).reasons
    assert held == Reason("order", f"It holds the order 'account', key '7': {later}")

    await harness.client.skip(failing.id)
    assert await kinds(harness, failing) == ["finished"]
    assert await kinds(harness, waiting) == ["queued"]


async def test_a_scheduled_job_in_front_of_an_order(harness: ClientHarness) -> None:
    double = harness.jobs.job(limits=[Order("account")])(value)
    first = await harness.client.start(double.bind(1), delay=60)
    second = await harness.client.start(double.bind(2))
    await report_live(harness)
    await harness.drain()

    (reason,) = (await explained(harness, second)).reasons

    assert reason == Reason(
        "order",
        f"The order 'account' runs one job at a time. Job {first.id} of chain {first.id} is in front of it and is "
        "pending.",
    )
