"""Producer only, consumer only, both; start, stop, start again; a stop that loses nothing."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from holdfast import Duplicate, Event, Fail, JobFailed, Queue, Queued, QueueJob
from tests.queue.harness import TIMEOUT, Handler, Harness, Recorder, soon


async def test_a_producer_and_a_consumer_are_apart(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue() as producer:
        assert await producer.enqueue("a", 1) == Queued()
        async with harness.queue(handler) as consumer:
            await Recorder(consumer).receive("completed", "a")

        assert await producer.result("a") == 1


async def test_starting_and_stopping_twice_does_nothing_more(harness: Harness) -> None:
    queue = harness.queue(Handler())
    recorder = Recorder(queue)
    await queue.stop()
    await queue.start()
    await queue.start()
    assert await soon(queue.enqueue_and_wait("a", 1)) == 1
    await queue.stop()
    await queue.stop()

    assert [event for event, *_ in recorder.events if event in ("started", "stopped")] == ["started", "stopped"]


async def test_a_stopped_queue_starts_again_with_what_it_had(harness: Harness) -> None:
    handler = Handler()
    queue = harness.queue(handler)
    for number in range(3):
        async with queue:
            assert await soon(queue.enqueue_and_wait(f"job-{number}", number)) == number
        with pytest.raises(RuntimeError, match="not started"):
            await queue.enqueue("x", 1)

    async with queue:
        assert await queue.result("job-0") == 0


async def test_a_private_memory_store_outlives_a_stop() -> None:
    queue: Queue[int, int] = Queue("emails", store="memory://")
    async with queue:
        await queue.enqueue("a", 1)

    async with queue:
        assert await queue.enqueue("a", 1) == Duplicate("queued")


async def test_stopping_one_queue_of_a_store_leaves_the_others_alone(harness: Harness) -> None:
    async with harness.queue(Handler(), name="one") as one:
        async with harness.queue(Handler(), name="two") as two:
            assert await soon(two.enqueue_and_wait("a", 2)) == 2

        assert await soon(one.enqueue_and_wait("a", 1)) == 1


async def test_a_stop_lets_running_jobs_finish(harness: Harness) -> None:
    handler = Handler(hold=True)
    queue = harness.queue(handler)
    recorder = Recorder(queue)
    await queue.start()
    await queue.enqueue("a", 1)
    await handler.begun()
    stopping = asyncio.create_task(queue.stop())
    handler.let_go()
    await soon(stopping)

    assert recorder.kinds("a") == ["enqueued", "completed"]


async def test_jobs_that_finish_during_a_stop_emit_their_result_or_error(harness: Harness) -> None:
    def act(job: QueueJob[Any]) -> Any:
        if job.id == "bad":
            raise Fail("given up")
        return job.payload

    handler = Handler(act, hold=True)
    queue = harness.queue(handler, concurrency=2)
    recorder = Recorder(queue)
    await queue.start()
    await queue.enqueue_many([("good", "result"), ("bad", "none")])
    await handler.begun(times=2)

    stopping = asyncio.create_task(queue.stop())
    handler.let_go()
    await soon(stopping)

    assert recorder.find("completed", "good") == [("completed", "good", "result")]
    ((*_, error),) = recorder.find("failed", "bad")
    assert type(error) is JobFailed  # it had attempts left


async def test_what_outlives_the_grace_period_goes_back_to_the_front_at_once(harness: Harness) -> None:
    stuck, handler = Handler(hold=True), Handler()
    queue = harness.queue(stuck, concurrency=1, grace=0)
    recorder = Recorder(queue)
    async with harness.queue() as producer:
        async with queue:
            await producer.enqueue_many([("a", 1), ("b", 2)])
            await stuck.begun()
        await recorder.receive("requeued", "a")
        status = await producer.status("a")
        assert status is not None
        assert (status.state, status.attempts) == ("queued", 0)

        async with harness.queue(handler, concurrency=1) as other:
            await Recorder(other).receive("completed", "b")

    assert [(job.id, job.attempts) for job in handler.jobs] == [("a", 1), ("b", 1)]
    assert stuck.jobs[0].signal.reason == "shutdown"


async def test_a_plain_handler_that_ignores_the_signal_does_not_keep_its_job(harness: Harness) -> None:
    begun, release, handler = asyncio.Event(), threading.Event(), Handler(lambda job: "other")
    loop = asyncio.get_running_loop()

    def stubborn(job: QueueJob[Any]) -> str:
        loop.call_soon_threadsafe(begun.set)
        release.wait(TIMEOUT)
        return "stubborn"

    async with harness.queue() as producer:
        async with harness.queue(stubborn, grace=0):
            await producer.enqueue("a", 1)
            await soon(begun.wait())
        async with harness.queue(handler):
            assert await soon(producer.enqueue_and_wait("a", 1)) == "other"
        release.set()
        assert await producer.result("a") == "other"


async def test_a_consumer_runs_until_it_is_cancelled(harness: Harness) -> None:
    handler = Handler(hold=True)
    queue = harness.queue(handler)
    recorder = Recorder(queue)
    running = asyncio.create_task(queue.run())
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        await handler.begun()
        handler.let_go()
        await recorder.receive("completed", "a")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    assert [event for event, *_ in recorder.events] == ["started", "completed", "stopped"]


async def test_a_consumer_needs_a_handler_and_runs_once_at_a_time(harness: Harness) -> None:
    with pytest.raises(RuntimeError, match="call execute"):
        await harness.queue().run()
    async with harness.queue(Handler()) as queue:
        with pytest.raises(RuntimeError, match="running already"):
            await queue.run()


async def test_a_new_handler_for_a_consumer_that_runs_is_not_given_a_worker_of_its_own(harness: Harness) -> None:
    first, second = Handler(hold=True), Handler()
    events: list[Event] = []
    queue = harness.queue(first, observers=[events.append])
    recorder = Recorder(queue)
    running = asyncio.create_task(queue.run())
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        await first.begun()

        queue.execute(second)
        await producer.enqueue("b", 2)
        await recorder.receive("completed", "b")
        first.let_go()
        await recorder.receive("completed", "a")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    assert (first.ids, second.ids) == (["a"], ["b"])
    assert sum(event.kind == "worker_started" for event in events) == 1


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"grace": -1}, {"poll_interval": 0}], ids=str)
def test_what_no_queue_can_have_is_refused_when_it_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Queue("emails", store="memory://", **wrong)
