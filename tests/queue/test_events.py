"""Local callbacks, and the store-wide stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import Cancel, QueueJob, Reschedule
from holdfast.queue import QueueEvent
from holdfast.testing.conformance import StoreFactory
from tests.queue.harness import TIMEOUT, AnyQueue, Handler, Harness, Recorder, fail_until, soon


async def test_a_job_emits_events_from_enqueue_to_completion(harness: Harness) -> None:
    queue = harness.queue(Handler(fail_until(2)), max_retries=1)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", "x")
        await recorder.receive("completed", "a", "x")

    assert [event for event, *_ in recorder.events] == ["started", "enqueued", "failing", "completed", "stopped"]
    (failing,) = recorder.find("failing", "a")
    assert failing[2:] == ("ValueError: no luck with attempt 1", 1)


async def test_events_are_local_to_the_queue_object(harness: Harness) -> None:
    consumer, producer = harness.queue(Handler()), harness.queue()
    near, far = Recorder(consumer), Recorder(producer)
    async with consumer, producer:
        await soon(producer.enqueue_and_wait("a", 1))
        await near.receive("completed", "a")

    assert far.kinds("a") == ["enqueued"]
    assert near.kinds("a") == ["completed"]


async def test_an_event_is_emitted_after_the_commit(harness: Harness) -> None:
    seen: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def look(id: str) -> None:
        seen.set_result(await queue.result(id))

    queue = harness.queue(Handler())
    queue.on("completed", look)
    async with queue:
        await queue.enqueue("a", "x")

        assert await soon(seen) == "x"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("event", ["enqueued", "completed", "failing", "failed", "started", "error"])
async def test_a_listener_that_raises_harms_no_job(harness: Harness, event: str, error: type[BaseException]) -> None:
    def spoil(*values: Any) -> None:
        raise error("a broken listener")

    handler = Handler(fail_until(2))
    queue = harness.queue(handler, max_retries=1)
    queue.on(event, spoil)
    recorder = Recorder(queue)
    async with queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == 1
        await recorder.receive("completed", "a")

    assert [job.attempts for job in handler.jobs] == [1, 2]
    if event in ("enqueued", "completed", "failing", "started"):
        assert "a broken listener" in str(recorder.find("error")[0])


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
async def test_an_async_listener_that_raises_is_reported(harness: Harness, error: type[BaseException]) -> None:
    async def spoil(id: str) -> None:
        raise error("a broken listener")

    queue = harness.queue(Handler())
    queue.on("completed", spoil)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", 1)
        _, reported = await recorder.receive("error")

    assert str(reported) == "a broken listener"


async def test_a_listener_takes_as_many_values_as_it_likes_until_it_is_removed(harness: Harness) -> None:
    received: list[Any] = []
    queue = harness.queue(Handler())
    recorder = Recorder(queue)

    def take_both(id: str, result: Any) -> None:
        received.append((id, result))

    queue.on("completed", lambda: received.append("none"))
    queue.on("completed", received.append)
    remove = queue.on("completed", take_both)
    async with queue:
        await queue.enqueue("a", 1)
        await recorder.receive("completed", "a")
        remove()
        remove()
        await queue.enqueue("b", 2)
        await recorder.receive("completed", "b")

    assert received == ["none", "a", ("a", 1), "none", "b"]


async def test_an_unknown_event_is_refused_with_those_there_are(harness: Harness) -> None:
    with pytest.raises(ValueError, match="no event 'complete'; the events are started, stopped, enqueued, completed"):
        harness.queue().on("complete", print)
    with pytest.raises(TypeError, match="a listener is a function"):
        harness.queue().on("completed", "print")  # type: ignore[arg-type]


async def test_a_handler_that_cancels_or_reschedules_emits_an_event(harness: Harness) -> None:
    def act(job: QueueJob[Any]) -> None:
        if job.id == "cancel":
            raise Cancel("not wanted")
        if job.attempts == 1:
            raise Reschedule(0)

    queue = harness.queue(Handler(act))
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("cancel", 1)
        await recorder.receive("cancelled", "cancel")
        await queue.enqueue("again", 1)
        await recorder.receive("requeued", "again")
        await recorder.receive("completed", "again", None)


async def test_the_stream_reports_all_changes_in_the_terms_of_the_queue(
    harness: Harness, make_store: StoreFactory
) -> None:
    other = make_store()
    other.clock = harness.clock
    async with harness.queue(store=other) as monitor:
        events = monitor.events()
        await ready(monitor, events)
        async with harness.queue(Handler(fail_until(2)), max_retries=1) as worker, harness.queue(name="other") as away:
            await away.enqueue("elsewhere", 1)
            await soon(worker.enqueue_and_wait("user:1", 1))
            await worker.enqueue("b", 1, delay=60)
            await worker.cancel("b")

            received = [await soon(anext(events)) for _ in range(7)]
        await events.aclose()  # type: ignore[attr-defined]
    await other.close()

    assert [(event.id, event.event) for event in received] == [
        ("user:1", "queued"),
        ("user:1", "processing"),
        ("user:1", "failing"),
        ("user:1", "processing"),
        ("user:1", "completed"),
        ("b", "queued"),
        ("b", "cancelled"),
    ]
    assert [event.attempts for event in received[:5]] == [0, 1, 1, 2, 2]


async def test_the_stream_reports_stalled_and_failed_jobs(harness: Harness) -> None:
    async with harness.queue() as monitor:
        events = monitor.events()
        await ready(monitor, events)
        await monitor.enqueue("a", 1)
        await harness.claim(lease=5)
        harness.clock.advance(5)
        async with harness.queue(Handler()):
            received = [await soon(anext(events)) for _ in range(5)]
        await events.aclose()  # type: ignore[attr-defined]

    assert [event.event for event in received] == ["queued", "processing", "stalled", "processing", "completed"]


async def ready(queue: AnyQueue, events: AsyncIterator[QueueEvent]) -> None:
    """Wait until the stream delivers events, tested by jobs that are enqueued for this purpose."""
    first = asyncio.ensure_future(anext(events))
    async with asyncio.timeout(TIMEOUT):
        while not first.done():
            await _beacon(queue, "are you there?")
            await asyncio.wait([first], timeout=0.01)
    await _beacon(queue, "ready")
    while (event := await soon(anext(events))).id != "ready" or event.event != "cancelled":
        pass


async def _beacon(queue: AnyQueue, id: str) -> None:
    await queue.enqueue(id, 1, delay=3600)
    await queue.cancel(id)
