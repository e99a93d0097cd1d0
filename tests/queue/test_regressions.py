"""The known defects of the queue that served as the model: a test for each, on every store.

Other files of this folder test some of them in more detail. The list is complete here and in
`test_consumer_regressions.py`.
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
    WaitTimeout,
)
from holdfast.engine.operations import Filter, ListJobs, Prune
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


async def test_expired_results_do_not_accumulate_under_load(harness: Harness) -> None:
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


async def test_a_callback_that_raises_does_not_run_the_job_again(harness: Harness) -> None:
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


async def test_a_status_contains_the_number_of_attempts(harness: Harness) -> None:
    async with harness.queue(Handler(fail_until(3)), max_retries=2) as queue:
        await soon(queue.enqueue_and_wait("a", 1))
        status = await queue.status("a")

    assert status is not None
    assert status.attempts == 3


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
