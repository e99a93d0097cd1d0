"""cancel, retry, run_now, delete, pause and prune: their results and their errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Bound, ChainNotFound, Fail, JobNotFound, NotPending
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, in_time, value


async def _fail(attempt: AttemptAdapter, number: int) -> int:
    if attempt.job.attempt <= number:
        raise Fail("on purpose")
    return attempt.job.attempt


async def test_cancel_a_pending_a_scheduled_and_a_blocked_chain(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    pending = await harness.client.start(double.bind(1))
    scheduled = await harness.client.start(double.bind(1), delay=100)
    blocked = await harness.client.start(double.bind(1), after=[scheduled])

    for subject in (pending, scheduled.id, blocked.job):
        cancelled = await harness.client.cancel(subject, reason="not needed")
        assert (cancelled.status, str(cancelled.error)) == ("cancelled", "Cancelled: not needed")
        assert cancelled.finished_at == harness.time

    assert await harness.drain(advance=True) == []


async def test_cancel_does_not_change_finished_chains(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    chain = await harness.client.start(double.bind(7))
    await harness.drain()

    cancelled = await harness.client.cancel(chain)

    assert (cancelled.status, cancelled.output) == ("completed", 7)
    assert [event.kind for event in harness.reported] == ["created"]


async def test_cancel_ends_the_chain_at_its_current_job(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind(1).options(delay=100)

    second = harness.jobs.job(name="second")(value)
    chain = await harness.client.start(first.bind())
    await harness.drain()

    cancelled = await harness.client.cancel(chain)

    assert (cancelled.status, cancelled.job.type, cancelled.first_job.status) == ("cancelled", "second", "completed")


async def test_cancel_of_a_running_job_is_final(harness: ClientHarness) -> None:
    running = asyncio.Event()

    @harness.jobs.job
    async def slow() -> Bound[int]:
        running.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            return after.bind(1)  # noqa: B012 - it will not take no for an answer

    after = harness.jobs.job(name="after")(value)
    chain = await harness.client.start(slow.bind())
    async with harness.worker():
        await in_time(running.wait())
        cancelled = await harness.client.cancel(chain)

    assert cancelled.status == "cancelled"
    assert [(job.type, job.status) for job in (await harness.client.list_jobs()).items] == [("slow", "cancelled")]
    assert [each.outcome for each in (await harness.client.report(chain.id)).attempts] == ["cancelled"]


async def test_cancel_of_an_unknown_chain(harness: ClientHarness) -> None:
    with pytest.raises(ChainNotFound, match="nothing"):
        await harness.client.cancel("nothing")


async def test_retry_resets_the_attempts(harness: ClientHarness) -> None:
    failing = harness.job(_fail)
    chain = await harness.client.start(failing.bind(1), max_attempts=1)
    await harness.drain()
    assert (await harness.now(chain)).status == "failed"

    job = await harness.client.retry(chain)

    assert (job.id, job.status, job.attempt, job.scheduled_at) == (chain.id, "pending", 0, harness.time)
    await harness.drain()
    assert (await harness.now(chain)).status == "failed"
    assert [each.number for each in (await harness.client.report(chain.id)).attempts] == [1, 1]


@pytest.mark.parametrize("by", ["job", "chain", "job id", "chain id"])
async def test_retry_and_run_now_take_a_job_a_chain_or_an_id(harness: ClientHarness, by: str) -> None:
    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind(1).options(delay=100)

    second = harness.jobs.job(name="second")(value)
    chain = await harness.client.start(first.bind())
    await harness.drain()
    job = await harness.now(chain)
    subject = {"job": job, "chain": chain, "job id": job.id, "chain id": chain.id}[by]

    made_due = await harness.client.run_now(subject)
    await harness.client.cancel(chain)
    retried = await harness.client.retry(subject)

    assert (made_due.id, made_due.scheduled_at) == (job.id, harness.time)
    assert (retried.id, retried.status) == (job.id, "pending")


async def test_retry_of_a_cancelled_and_of_a_blocked_job(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1), delay=100)
    blocked = await harness.client.start(double.bind(2), after=[blocker])
    await harness.client.cancel(blocked)

    assert (await harness.client.retry(blocked)).status == "blocked"
    await harness.drain(advance=True)
    assert (await harness.now(blocked)).status == "completed"


async def test_retry_refuses_jobs_that_have_not_failed(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    chain = await harness.client.start(double.bind(1))

    with pytest.raises(NotPending, match="pending; this needs a job that is failed or cancelled"):
        await harness.client.retry(chain)
    await harness.drain()
    with pytest.raises(NotPending, match="completed"):
        await harness.client.retry(chain)
    with pytest.raises(JobNotFound):
        await harness.client.retry("nothing")


async def test_run_now_makes_a_scheduled_or_failing_job_due(harness: ClientHarness) -> None:
    async def flaky(attempt: AttemptAdapter, number: int) -> int:
        if attempt.job.attempt == 1:
            raise ValueError
        return attempt.job.attempt

    scheduled = await harness.client.start(harness.jobs.job(value).bind(1), delay=1000)
    failing = await harness.client.start(harness.job(flaky).bind())
    await harness.drain()

    for chain in (scheduled, failing):
        await harness.client.run_now(chain)
    await harness.drain()

    assert (await harness.now(scheduled)).status == "completed"
    assert (await harness.now(failing)).output == 2


async def test_run_now_of_a_due_job_changes_nothing(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    harness.clock.advance(10)

    assert (await harness.client.run_now(chain)).scheduled_at == chain.scheduled_at


async def test_run_now_refuses_jobs_that_are_not_pending(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1), delay=100)
    blocked = await harness.client.start(double.bind(2), after=[blocker])

    with pytest.raises(NotPending, match="blocked"):
        await harness.client.run_now(blocked)
    with pytest.raises(JobNotFound):
        await harness.client.run_now("nothing")


async def test_pause_and_resume(harness: ClientHarness) -> None:
    double, other = harness.jobs.job(value), harness.jobs.job(name="other")(value)
    chain, another = await harness.client.start(double.bind(1)), await harness.client.start(other.bind(2))

    await harness.client.pause(["value"])
    await harness.client.pause(double)
    assert [event.chain_id for event in await harness.drain()] == [another.id]

    await harness.client.resume(double)
    assert [event.chain_id for event in await harness.drain()] == [chain.id]


async def test_resuming_wakes_a_worker(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    await harness.client.pause("value")
    chain = await harness.client.start(double.bind(1))

    async with harness.worker(poll_interval=1000):
        await harness.client.resume("value")
        assert await harness.client.wait(chain, timeout=60) == 1


async def test_cancel_against_complete_has_one_winner(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    for _ in range(5):
        chain = await harness.client.start(double.bind(1))

        async def complete(chain: Any = chain) -> str:
            async with harness.client.completing(chain) as current:
                await current.output(1)
            return "completed"

        async def cancel(chain: Any = chain) -> str:
            return str((await harness.client.cancel(chain)).status)

        answers = await in_time(asyncio.gather(complete(), cancel(), return_exceptions=True))
        status = (await harness.now(chain)).status
        assert answers[1] == status
        assert (answers[0] == "completed") is (status == "completed")


async def test_cancel_by_key_cancels_every_unfinished_chain_with_the_key(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind(1).options(delay=100)

    second, other = harness.jobs.job(name="second")(value), harness.jobs.job(name="other")(value)
    done = await harness.client.start(second.bind(1), key="k")
    continued = await harness.client.start(first.bind(), key="k")
    await harness.drain()
    scheduled = await harness.client.start(second.bind(1), key="k", delay=100)
    blocked = await harness.client.start(other.bind(1), key="k", after=[scheduled])
    kept = await harness.client.start(other.bind(1), key="l")

    cancelled = await harness.client.cancel(key="k", reason="not needed")

    assert [chain.id for chain in cancelled] == [blocked.id, scheduled.id, continued.id]
    assert {(chain.status, str(chain.error)) for chain in cancelled} == {("cancelled", "Cancelled: not needed")}
    assert [(await harness.now(chain)).status for chain in (done, kept)] == ["completed", "pending"]
    assert [event.kind for event in harness.reported].count("cancelled") == 3
    assert await harness.client.cancel(key="k") == []


async def test_cancel_by_key_takes_the_type_to_which_the_key_belongs(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind(1).options(delay=100)

    second = harness.jobs.job(name="second")(value)
    continued = await harness.client.start(first.bind(), key="k")
    await harness.drain()
    other = await harness.client.start(second.bind(1), key="k", delay=100)

    assert [chain.id for chain in await harness.client.cancel(key="k", type=second)] == [other.id]
    assert await harness.client.cancel(key="k", type="unknown") == []
    assert [chain.id for chain in await harness.client.cancel(key="k", type=["first", "second"])] == [continued.id]


async def test_cancel_takes_a_chain_or_a_key(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1), key="k")

    for options in ({}, {"chain": chain, "key": "k"}, {"chain": chain, "type": "value"}, {"type": "value"}):
        with pytest.raises(TypeError, match="key"):
            await harness.client.cancel(**options)
    with pytest.raises(ValueError, match="between 1 and"):
        await harness.client.cancel(key="")
    assert (await harness.now(chain)).status == "pending"
