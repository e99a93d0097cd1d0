"""The producer for blocking code: the same answers, from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import pytest

from holdfast import (
    AttemptsExhausted,
    Completed,
    Duplicate,
    JobCancelled,
    JobNotFound,
    MsgpackCodec,
    Queued,
    SyncQueue,
    WaitTimeout,
)
from tests.queue.harness import Handler, Harness, fail, soon

R = TypeVar("R")


async def blocking(call: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Call it in a thread, as blocking code would."""
    return await soon(asyncio.to_thread(call, *args, **kwargs))


def producer(harness: Harness, **options: Any) -> SyncQueue[Any, Any]:
    queue: SyncQueue[Any, Any] = SyncQueue("emails", store=harness.store, **options)
    return queue


def _receive(received: list[tuple[str, str]], event: str, id: str) -> None:
    received.append((event, id))


async def test_a_blocking_producer_gets_the_same_answers(harness: Harness) -> None:
    def produce() -> None:
        with producer(harness) as queue:
            received: list[tuple[str, str]] = []
            queue.on("enqueued", partial(_receive, received, "enqueued"))
            queue.on("cancelled", partial(_receive, received, "cancelled"))
            assert queue.enqueue("a", 1, delay=60) == Queued()
            assert queue.enqueue("a", 2) == Duplicate("queued")
            assert queue.update_result_ttl("a", 5) == "not_terminal"
            assert queue.cancel("a") == "cancelled"
            assert queue.cancel("a") == "not_found"
            assert queue.status("a") is None
            assert queue.result("a") is None
            assert queue.enqueue_many([("b", 1), ("b", 2)], delay=60) == [Queued(), Duplicate("queued")]
            assert received == [("enqueued", "a"), ("cancelled", "a"), ("enqueued", "b")]

    await blocking(produce)


async def test_a_blocking_caller_waits_for_the_result(harness: Harness) -> None:
    with producer(harness, payload_codec=MsgpackCodec(), result_codec=MsgpackCodec()) as queue:
        options: dict[str, Any] = {"payload_codec": MsgpackCodec(), "result_codec": MsgpackCodec()}
        async with harness.queue(Handler(lambda job: job.payload + b"\xff"), **options):
            assert await blocking(queue.enqueue_and_wait, "a", b"\x00") == b"\x00\xff"
            assert await blocking(queue.enqueue, "a", b"") == Completed(b"\x00\xff")
            assert await blocking(queue.result, "a") == b"\x00\xff"
            status = await blocking(queue.status, "a")
            assert status is not None
            assert status.state == "completed"
            assert await blocking(queue.update_result_ttl, "a", 5) == "updated"


async def test_a_blocking_caller_gets_failure_cancellation_and_timeout(harness: Harness) -> None:
    with producer(harness, max_retries=0) as queue:
        with pytest.raises(WaitTimeout):
            await blocking(queue.enqueue_and_wait, "late", 1, timeout=0.01, delay=60)
        waiting = asyncio.create_task(asyncio.to_thread(queue.enqueue_and_wait, "late", 1))
        assert await blocking(queue.cancel, "late") == "cancelled"
        async with harness.queue(Handler(fail)):
            with pytest.raises(AttemptsExhausted, match="no luck"):
                await blocking(queue.enqueue_and_wait, "bad", 1)
            with pytest.raises((JobCancelled, AttemptsExhausted)):
                await soon(waiting)


async def test_64_threads_with_one_id_make_one_job(harness: Harness) -> None:
    def race() -> list[Any]:
        with producer(harness) as queue, ThreadPoolExecutor(64) as pool:
            return list(pool.map(partial(queue.enqueue, "a"), range(64)))

    answers = await blocking(race)

    assert sum(answer == Queued() for answer in answers) == 1
    assert sum(answer == Duplicate("queued") for answer in answers) == 63


async def test_a_blocking_queue_that_is_not_started_says_what_to_do(harness: Harness) -> None:
    queue = producer(harness)
    queue.stop()
    with pytest.raises(RuntimeError, match="'emails' is not started; use `with queue`"):
        queue.enqueue("a", 1)


async def test_an_async_listener_is_refused_in_blocking_code(harness: Harness) -> None:
    errors: list[Exception] = []

    async def listen(id: str) -> None: ...

    def produce() -> None:
        with producer(harness) as queue:
            queue.on("error", errors.append)
            queue.on("enqueued", listen)
            assert queue.enqueue("a", 1) == Queued()

    await blocking(produce)

    assert "needs an event loop" in str(errors[0])


async def test_the_stream_is_there_for_blocking_code(harness: Harness) -> None:
    def follow() -> list[tuple[str, str]]:
        with producer(harness) as queue:
            events = queue.events()
            reported: list[tuple[str, str]] = []
            with ThreadPoolExecutor(1) as pool:
                first = pool.submit(next, events)
                while not first.done():
                    queue.enqueue("beacon", 1, delay=60)
                    queue.cancel("beacon")
                queue.enqueue("a", 1, delay=60)
                while not reported or reported[-1][0] != "a":
                    event = pool.submit(next, events).result()
                    reported.append((event.id, event.event))
                pool.submit(events.close).result()  # type: ignore[attr-defined]
            return reported[-1:]

    assert await blocking(follow) == [("a", "queued")]


async def test_a_blocking_producer_lists_counts_pauses_and_orders_jobs(harness: Harness) -> None:
    def produce() -> None:
        with producer(harness) as queue:
            queue.enqueue("a", "x")
            queue.enqueue("b", "y", after=["a"])
            with pytest.raises(JobNotFound, match="'unknown'"):
                queue.enqueue("c", "z", after=["unknown"])
            queue.pause()
            assert (queue.counts().queued, queue.counts().paused) == (2, True)
            page = queue.list("queued", limit=1)
            assert [(job.id, job.payload) for job in page.items] == [("b", "y")]
            assert [job.id for job in queue.list(cursor=page.next_cursor).items] == ["a"]
            queue.resume()
            assert not queue.counts().paused

    await blocking(produce)
    handler = Handler()
    async with harness.queue(handler):
        await handler.begun(times=2)
    assert handler.ids == ["a", "b"]
