"""explain: the reasons that depend on the live workers, and on the declared types."""

from __future__ import annotations

import asyncio

from holdfast import Reason
from holdfast.engine.operations import ClaimJobs, DrainWorker, TypeTerms
from tests.conformance.client.explaining import explained, kinds, report_live, until_kind
from tests.conformance.client.harness import ClientHarness, in_time, value


async def test_a_due_job_without_a_worker(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    explanation = await explained(harness, chain)

    assert explanation.reasons == [Reason("no_worker", "No live worker runs jobs of the type `value`.")]
    assert explanation.claimable
    assert explanation.text == explanation.reasons[0].text
    assert explanation.job.id == chain.id


async def test_a_queued_job_and_the_jobs_ahead_of_it(harness: ClientHarness) -> None:
    await report_live(harness)
    double = harness.jobs.job(value)
    first, second, third = [await harness.client.start(double.bind(n)) for n in range(3)]

    explanations = [await explained(harness, chain) for chain in (first, second, third)]

    assert [each.reasons[0].kind for each in explanations] == ["queued"] * 3
    assert "It is the next job of its type. 1 live worker runs the type." in explanations[0].text
    assert "1 job of its type is ahead of it." in explanations[1].text
    assert "2 jobs of its type are ahead of it." in explanations[2].text
    assert all(each.claimable for each in explanations)


async def test_a_worker_that_has_missed_a_report_may_be_gone(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    await report_live(harness)
    harness.clock.advance(39)
    assert "may be gone" not in (await explained(harness, chain)).text

    harness.clock.advance(3)
    text = (await explained(harness, chain)).text
    assert text.endswith("1 live worker runs the type. It has not reported itself for 42 s, so it may be gone.")
    await report_live(harness, "two")
    assert "may be gone" not in (await explained(harness, chain)).text


async def test_a_worker_that_drains_or_is_gone_does_not_count(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    await report_live(harness)
    assert await kinds(harness, chain) == ["queued"]

    await harness.store.perform(DrainWorker("one"))
    assert (await explained(harness, chain)).reasons == [
        Reason("no_worker", "No live worker runs jobs of the type `value`. One that runs it drains.")
    ]

    await report_live(harness, "two")
    assert await kinds(harness, chain) == ["queued"]
    harness.clock.advance(91)
    assert await kinds(harness, chain) == ["no_worker"]


async def test_a_running_job_and_a_job_behind_busy_workers(harness: ClientHarness) -> None:
    begun, free = asyncio.Event(), asyncio.Event()

    @harness.jobs.job
    async def hold() -> None:
        begun.set()
        await free.wait()

    running, waiting = await harness.client.start(hold.bind()), await harness.client.start(hold.bind())
    async with harness.worker(concurrency=1, worker_id="one"):
        await in_time(begun.wait())
        busy = await in_time(until_kind(harness, waiting, "busy"))
        explanation = await explained(harness, running)
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

    assert "This worker is not live." in (await explained(harness, chain)).text

    harness.clock.advance(31)
    assert "Its lease expired at " in (await explained(harness, chain)).text


async def _claim(harness: ClientHarness) -> None:
    await harness.store.perform(ClaimJobs((TypeTerms("value", 30_000_000, 3),), 1, "gone", "token"))


async def test_a_type_that_this_client_declares_without_a_handler(harness: ClientHarness) -> None:
    @harness.jobs.declare
    async def approve() -> None: ...

    chain = await harness.client.start(approve.bind())

    assert await kinds(harness, chain) == ["external"]
    assert not (await explained(harness, chain)).claimable

    await report_live(harness, types=("approve",))
    assert await kinds(harness, chain) == ["queued"]


async def test_a_type_that_a_live_worker_declares_without_a_handler(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    vars(harness.jobs)["_types"].clear()
    assert await kinds(harness, chain) == ["no_worker"]

    await report_live(harness, types=("other",), details='{"external": ["value"]}')

    assert await kinds(harness, chain) == ["external"]
