"""The known defects of consumers in the queue that served as the model: recovery and stops."""

from __future__ import annotations

from holdfast import (
    Reaper,
)
from holdfast.engine.operations import Reap, Settle
from holdfast.testing.builders import completed
from tests.queue.harness import LEASE, Handler, Harness, Recorder, soon

# Recovery


async def test_a_worker_that_dies_between_claim_and_handler_does_not_lose_the_job(harness: Harness) -> None:
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        await harness.claim()
        harness.clock.advance(LEASE)
        async with harness.queue(Handler()):
            assert await soon(producer.enqueue_and_wait("a", 1)) == 1


async def test_a_job_that_always_stalls_is_not_run_without_bound(harness: Harness) -> None:
    async with harness.queue(max_retries=2) as queue:
        await queue.enqueue("a", 1)
        for attempt in (1, 2, 3):
            assert (await harness.claim()).attempt == attempt
            harness.clock.advance(LEASE)
            await harness.store.perform(Reap(("queue:emails",), (), 10))
        status = await queue.status("a")

    assert status is not None
    assert (status.state, status.attempts) == ("failed", 3)


async def test_the_late_result_of_a_lost_worker_is_refused(harness: Harness) -> None:
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        zombie = await harness.claim()
        harness.clock.advance(LEASE)
        async with harness.queue(Handler(lambda job: "right")):
            assert await soon(producer.enqueue_and_wait("a", 1)) == "right"
        (answer,) = await harness.store.perform(Settle((completed(zombie, b'"late"'),)))

        assert answer.lost == "already_completed"
        assert await producer.result("a") == "right"


async def test_a_worker_whose_id_has_colons_is_recovered_from(harness: Harness) -> None:
    stuck = Handler(hold=True)
    async with harness.queue(stuck, worker_id="host:1:2", visibility_timeout=3600) as queue:
        await queue.enqueue("a", 1)
        await stuck.begun()
        harness.clock.advance(3600)
        reaper = Reaper(harness.store, interval=0.02)
        recorder = Recorder(reaper, ("stalled",))
        async with reaper:
            await recorder.receive("stalled", "a")
        stuck.let_go()


async def test_a_reaper_of_a_named_queue_works(harness: Harness) -> None:
    async with harness.queue(name="named") as queue:
        await queue.enqueue("a", 1)
        await harness.claim(name="named")
        harness.clock.advance(LEASE)
        reaper = Reaper(harness.store, queues=["named"], interval=0.02)
        recorder = Recorder(reaper, ("stalled", "leadership_acquired"))
        async with reaper:
            await recorder.receive("leadership_acquired")
            await recorder.receive("stalled", "a", "named")


# Stopping, and several queues on one store


async def test_a_job_that_outlives_the_stop_is_not_lost(harness: Harness) -> None:
    stuck = Handler(hold=True)
    async with harness.queue() as producer:
        async with harness.queue(stuck, grace=0):
            await producer.enqueue("a", 1)
            await stuck.begun()
        async with harness.queue(Handler()):
            assert await soon(producer.enqueue_and_wait("a", 1)) == 1


async def test_a_stopped_queue_claims_no_further_job(harness: Harness) -> None:
    stopped = Handler()
    async with harness.queue(stopped):
        pass
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        async with harness.queue(Handler()):
            assert await soon(producer.enqueue_and_wait("a", 1)) == 1

    assert stopped.jobs == []


async def test_a_released_job_goes_to_the_front(harness: Harness) -> None:
    stuck, handler = Handler(hold=True), Handler()
    async with harness.queue() as producer:
        async with harness.queue(stuck, concurrency=1, grace=0):
            await producer.enqueue_many([("first", 1), ("second", 2)])
            await stuck.begun()
        consumer = harness.queue(handler, concurrency=1)
        recorder = Recorder(consumer)
        async with consumer:
            await recorder.receive("completed", "second")

    assert handler.ids == ["first", "second"]
