"""Messages of a handler: it waits in place for a short time, else the attempt is suspended until the message."""

from __future__ import annotations

import asyncio

from holdfast import Attempt, MessageTimeout, Retry
from tests.worker.harness import WorkerHarness
from tests.worker.step_runs import Payment, run


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
    assert await run(harness) == ["failed"]
    assert "--from-step paid" in str((await harness.chain(chain)).error)

    await harness.client.retry(chain, from_step="paid")
    assert await harness.client.send(chain, "paid", 3)

    assert await run(harness) == ["completed"]


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
    await run(harness)
    harness.clock.advance(86400)
    await run(harness)
    assert await harness.client.send(chain, "label", "late")

    assert await run(harness, advance=True) == ["completed"]
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
