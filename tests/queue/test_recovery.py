"""The reaper returns stalled jobs to the queue and counts each time. A job whose lease is renewed is not reaped."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import AttemptsExhausted, Event
from holdfast.engine.operations import Reap
from holdfast.testing.conformance import StoreFactory
from tests.queue.harness import LEASE, Handler, Harness, Recorder, soon


async def test_a_stalled_job_runs_again_and_the_lost_attempt_counts(harness: Harness) -> None:
    handler = Handler()
    queue = harness.queue(handler)
    recorder = Recorder(queue)
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
    await harness.claim()

    async with queue:
        harness.clock.advance(LEASE)
        await recorder.receive("stalled", "a")
        await recorder.receive("completed", "a")

    assert [job.attempts for job in handler.jobs] == [2]


async def test_a_job_is_processing_until_it_is_reaped_and_then_failing(harness: Harness) -> None:
    async with harness.queue() as queue:
        await queue.enqueue("a", 1)
        await harness.claim()
        harness.clock.advance(LEASE)
        before = await queue.status("a")
        await harness.store.perform(Reap(("queue:emails",), (), 10))
        after = await queue.status("a")

    assert before is not None
    assert after is not None
    assert (before.state, after.state) == ("processing", "failing")
    assert after.attempts == 1


async def test_a_job_that_stalls_every_time_ends_as_failed(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue(max_retries=2) as producer:
        recorder = Recorder(producer)
        pending = asyncio.create_task(producer.enqueue_and_wait("a", 1))
        await recorder.receive("enqueued", "a")
        for attempt in (1, 2, 3):
            record = await harness.claim()
            assert record.attempt == attempt
            harness.clock.advance(LEASE)
            if attempt < 3:
                await harness.store.perform(Reap(("queue:emails",), (), 10))
        consumer = harness.queue(handler)
        recorder = Recorder(consumer)
        async with consumer:
            await recorder.receive("stalled", "a")
            _, _, failure = await recorder.receive("failed", "a")

        assert isinstance(failure, AttemptsExhausted)
        with pytest.raises(AttemptsExhausted, match="lease lost"):
            await soon(pending)
    assert handler.jobs == []


async def test_a_running_job_is_renewed_and_not_taken_by_another_worker(
    harness: Harness, make_store: StoreFactory
) -> None:
    other = make_store()
    other.clock = harness.clock
    slow, idle = Handler(hold=True), Handler()
    renewals: list[Event] = []
    renewed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def receive(event: Event) -> None:
        if event.kind == "renewed":
            renewals.append(event)
            loop.call_soon_threadsafe(renewed.set)

    async def renewed_twice() -> None:
        """The first of the two may have been sent before the clock moved."""
        wanted = len(renewals) + 2
        while len(renewals) < wanted:
            renewed.clear()
            await renewed.wait()

    async with harness.queue(slow, visibility_timeout=3, renew_interval=0.05, observers=[receive]) as queue:
        pending = asyncio.create_task(queue.enqueue_and_wait("a", 1))
        await slow.begun()
        async with harness.queue(idle, store=other):
            for _ in range(4):
                harness.clock.advance(2.5)
                await soon(renewed_twice())
            slow.let_go()
            assert await soon(pending) == 1
    await other.close()

    assert ([job.attempts for job in slow.jobs], idle.jobs) == ([1], [])
