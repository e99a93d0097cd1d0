"""The known defects of the queue that served as the model: a test for each, on every store.

Other files of this folder test some of them in more detail. Here the list is complete.
"""

from __future__ import annotations

import asyncio

import pytest

from holdfast import (
    AttemptsExhausted,
    Completed,
    Duplicate,
    JobCancelled,
    JobFailed,
    MsgpackCodec,
    Queue,
    Queued,
    QueueJob,
    Reaper,
    WaitTimeout,
)
from holdfast.engine.operations import Filter, ListJobs, Prune, Reap, Settle
from holdfast.testing.builders import completed
from holdfast.testing.conformance import StoreFactory
from tests.queue.harness import LEASE, Handler, Harness, Recorder, fail, fail_until, soon

# Results and their time to live


async def test_the_expiry_of_one_result_touches_no_other(harness: Harness) -> None:
    async with harness.queue(Handler(), result_ttl=3600) as queue:
        await soon(queue.enqueue_and_wait("long", 1))
        await soon(queue.enqueue_and_wait("brief", 2, result_ttl=0.05))
        harness.clock.advance(1)
        await harness.store.perform(Prune(100))

        assert await queue.result("brief") is None
        assert await queue.result("long") == 1
        assert await queue.enqueue("long", 1) == Completed(1)


async def test_an_updated_time_to_live_holds(harness: Harness) -> None:
    async with harness.queue(Handler(), result_ttl=0.3) as queue:
        await soon(queue.enqueue_and_wait("a", 1))
        assert await queue.update_result_ttl("a", 60) == "updated"
        harness.clock.advance(59)
        await harness.store.perform(Prune(100))

        assert await queue.result("a") == 1


async def test_what_has_expired_does_not_pile_up_under_steady_traffic(harness: Harness) -> None:
    async with harness.queue(Handler(), result_ttl=1) as queue:
        for number in range(20):
            await soon(queue.enqueue_and_wait(f"job-{number}", number))
            harness.clock.advance(1)
            await harness.store.perform(Prune(100))

    assert await harness.store.perform(ListJobs(Filter(), 100)) == []


async def test_a_result_of_none_is_delivered_and_cached(harness: Harness) -> None:
    handler = Handler(lambda job: None)
    async with harness.queue(handler) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) is None
        assert await queue.enqueue("a", 1) == Completed(None)

    assert len(handler.jobs) == 1


# Ids


async def test_an_id_with_colons_is_waited_for_watched_and_recovered(harness: Harness) -> None:
    handler = Handler()
    queue = harness.queue(handler)
    recorder = Recorder(queue)
    async with harness.queue() as producer:
        produced = Recorder(producer)
        pending = asyncio.create_task(producer.enqueue_and_wait("user:1:exp", 1))
        await produced.receive("enqueued")
        await harness.claim()
        harness.clock.advance(LEASE)
        async with queue:
            await recorder.receive("stalled", "user:1:exp")
            assert await soon(pending) == 1


async def test_parallel_enqueues_of_one_new_id_are_one_job_and_no_error(harness: Harness) -> None:
    async with harness.queue() as queue:
        answers = await soon(asyncio.gather(*[queue.enqueue("a", number) for number in range(150)]))

    assert [answer for answer in answers if answer == Queued()] == [Queued()]
    assert [answer for answer in answers if answer == Duplicate("queued")] == [Duplicate("queued")] * 149


async def test_many_parallel_enqueues_do_not_hang(harness: Harness) -> None:
    async with harness.queue() as queue:
        answers = await soon(asyncio.gather(*[queue.enqueue(f"job-{number}", number) for number in range(100)]))

    assert answers == [Queued()] * 100


# Cancelling


async def test_a_cancelled_payload_never_runs_though_its_id_is_enqueued_again_at_once(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue() as producer:
        await producer.enqueue("a", "old")
        await producer.cancel("a")
        await producer.enqueue("a", "new")
    consumer = harness.queue(handler)
    recorder = Recorder(consumer)
    async with consumer:
        await recorder.receive("completed", "a", "new")

    assert [job.payload for job in handler.jobs] == ["new"]


async def test_a_waiter_whose_job_is_cancelled_does_not_just_time_out(harness: Harness) -> None:
    async with harness.queue() as queue:
        recorder = Recorder(queue)
        pending = asyncio.create_task(queue.enqueue_and_wait("a", 1, timeout=3600))
        await recorder.receive("enqueued")
        await queue.cancel("a")

        with pytest.raises(JobCancelled):
            await soon(pending)


async def test_cancelling_a_failed_job_does_not_erase_its_failure(harness: Harness) -> None:
    async with harness.queue(Handler(fail), max_retries=0) as queue:
        with pytest.raises(JobFailed):
            await soon(queue.enqueue_and_wait("a", 1))

        assert await queue.cancel("a") == "completed"
        status = await queue.status("a")

    assert status is not None
    assert status.state == "failed"


# Waiting


async def test_the_timeout_of_one_waiter_does_not_end_the_subscription_of_another(harness: Harness) -> None:
    handler = Handler(hold=True)
    async with harness.queue(handler) as queue:
        patient = asyncio.create_task(queue.enqueue_and_wait("a", 1))
        await handler.begun()
        for _ in range(3):
            with pytest.raises(WaitTimeout):
                await queue.enqueue_and_wait("a", 1, timeout=0)
        handler.let_go()

        assert await soon(patient) == 1


async def test_enqueue_and_wait_emits_enqueued(harness: Harness) -> None:
    queue = harness.queue(Handler())
    recorder = Recorder(queue)
    async with queue:
        await soon(queue.enqueue_and_wait("a", 1))

    assert recorder.find("enqueued") == [("enqueued", "a")]


async def test_the_error_of_a_failure_is_not_json_within_a_message(harness: Harness) -> None:
    async with harness.queue(Handler(fail), max_retries=0) as queue:
        with pytest.raises(AttemptsExhausted) as failure:
            await soon(queue.enqueue_and_wait("a", 1))

    assert str(failure.value) == "job 'a' failed: ValueError: no luck with attempt 1"


# Running


async def test_max_retries_are_retries_and_not_attempts(harness: Harness) -> None:
    handler = Handler(fail)
    async with harness.queue(handler, max_retries=3) as queue:
        with pytest.raises(AttemptsExhausted):
            await soon(queue.enqueue_and_wait("a", 1))

    assert [job.attempts for job in handler.jobs] == [1, 2, 3, 4]


async def test_a_listener_that_raises_does_not_run_the_job_again(harness: Harness) -> None:
    def spoil(id: str) -> None:
        raise RuntimeError("a broken listener")

    handler = Handler()
    queue = harness.queue(handler)
    queue.on("completed", spoil)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", 1)
        await recorder.receive("completed", "a")
        status = await queue.status("a")

    assert len(handler.jobs) == 1
    assert status is not None
    assert status.state == "completed"


async def test_a_second_execute_is_not_ignored(harness: Harness) -> None:
    async with harness.queue(Handler(lambda job: "first")) as queue:
        queue.execute(Handler(lambda job: "second"))

        assert await soon(queue.enqueue_and_wait("a", 1)) == "second"


async def test_binary_payloads_survive_retries_without_leaving_copies(harness: Harness) -> None:
    handler = Handler(fail_until(3))
    codec = MsgpackCodec()
    async with harness.queue(handler, max_retries=2, payload_codec=codec, result_codec=codec) as queue:
        assert await soon(queue.enqueue_and_wait("a", b"\xff\x00")) == b"\xff\x00"

    assert len(handler.jobs) == 3
    stored = await harness.store.perform(ListJobs(Filter(), 100))
    assert [job.key for job in stored] == ["a"]


async def test_an_undecodable_message_does_not_block_its_id_forever(harness: Harness) -> None:
    async with harness.queue(Handler(), mismatch_timeout=0) as queue:
        async with harness.queue(payload_codec=MsgpackCodec()) as unrelated:
            with pytest.raises(JobFailed, match="cannot decode"):
                await soon(unrelated.enqueue_and_wait("a", b"\xff"))

        assert await soon(queue.enqueue_and_wait("a", "readable")) == "readable"


async def test_a_status_does_not_always_say_no_attempts(harness: Harness) -> None:
    async with harness.queue(Handler(fail_until(3)), max_retries=2) as queue:
        await soon(queue.enqueue_and_wait("a", 1))
        status = await queue.status("a")

    assert status is not None
    assert status.attempts == 3


# Recovery


async def test_a_worker_that_dies_between_taking_and_running_a_job_does_not_lose_it(harness: Harness) -> None:
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


async def test_a_zombies_late_result_is_refused(harness: Harness) -> None:
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


async def test_a_stopped_queue_takes_no_further_job_along(harness: Harness) -> None:
    stopped = Handler()
    async with harness.queue(stopped):
        pass
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        async with harness.queue(Handler()):
            assert await soon(producer.enqueue_and_wait("a", 1)) == 1

    assert stopped.jobs == []


async def test_what_is_given_back_goes_to_the_front(harness: Harness) -> None:
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


async def test_an_idle_queue_does_not_slow_a_busy_one_on_the_same_store(harness: Harness) -> None:
    async with harness.queue(Handler(), name="idle", concurrency=3), harness.queue(Handler(), name="busy") as busy:
        for number in range(20):
            assert await soon(busy.enqueue_and_wait(f"job-{number}", number)) == number


async def test_two_objects_for_one_queue_see_each_other(harness: Harness, make_store: StoreFactory) -> None:
    other = make_store()
    other.clock = harness.clock
    async with harness.queue(store=other) as producer, harness.queue(Handler()):
        assert await soon(producer.enqueue_and_wait("a", 1)) == 1
    await other.close()


async def test_a_store_named_in_memory_is_shared_by_name() -> None:
    async def handle(job: QueueJob[int]) -> int:
        return job.payload

    one: Queue[int, int] = Queue("emails", store="memory://test_a_store_named_in_memory")
    two: Queue[int, int] = Queue("emails", store="memory://test_a_store_named_in_memory")
    two.execute(handle)
    async with one, two:
        assert await soon(one.enqueue_and_wait("a", 1)) == 1
