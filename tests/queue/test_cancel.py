"""Cancel: four answers, and what is cancelled never runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Queued
from holdfast.engine.operations import CancelChains, Operation
from tests.queue.harness import Handler, Harness, Recorder, fail, soon


async def test_a_waiting_job_is_cancelled_and_never_runs(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        assert await producer.cancel("a") == "cancelled"
        assert await producer.status("a") is None
        await producer.enqueue("b", 2)

    consumer = harness.queue(handler, concurrency=1)
    recorder = Recorder(consumer)
    async with consumer:
        await recorder.receive("completed", "b")

    assert handler.ids == ["b"]


async def test_an_unknown_id_and_one_cancelled_before_are_not_found(harness: Harness) -> None:
    async with harness.queue() as queue:
        assert await queue.cancel("a") == "not_found"
        await queue.enqueue("a", 1)
        await queue.cancel("a")

        assert await queue.cancel("a") == "not_found"


async def test_a_running_job_is_left_alone(harness: Harness) -> None:
    handler = Handler(hold=True)
    async with harness.queue(handler) as queue:
        waiting = asyncio.create_task(queue.enqueue_and_wait("a", 1))
        await handler.begun()

        assert await queue.cancel("a") == "processing"
        handler.let_go()
        assert await soon(waiting) == 1
        assert await queue.cancel("a") == "completed"


async def test_a_failing_job_is_cancelled_and_a_failed_one_is_over(harness: Harness) -> None:
    queue = harness.queue(Handler(fail), retry=None, max_retries=1)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("failing", 1)
        await recorder.receive("failing", "failing")
        assert await queue.cancel("failing") == "cancelled"

        await queue.enqueue("failed", 1, max_attempts=1)
        await recorder.receive("failed", "failed")
        assert await queue.cancel("failed") == "completed"
        status = await queue.status("failed")
        assert status is not None
        assert status.state == "failed"


async def test_a_result_past_its_time_to_live_is_not_found(harness: Harness) -> None:
    async with harness.queue(Handler(), result_ttl=60) as queue:
        await soon(queue.enqueue_and_wait("a", 1))
        harness.clock.advance(60)

        assert await queue.cancel("a") == "not_found"


async def test_a_delayed_job_is_cancelled(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue(handler) as queue:
        await queue.enqueue("a", 1, delay=60)
        assert await queue.cancel("a") == "cancelled"
        harness.clock.advance(61)
        await soon(queue.enqueue_and_wait("b", 1))

    assert handler.ids == ["b"]


async def test_a_cancel_while_a_worker_claims_returns_the_right_answer(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue(handler) as queue:
        recorder = Recorder(queue)
        for number in range(30):
            id = f"job-{number}"
            await queue.enqueue(id, 1)

            answer = await queue.cancel(id)

            if answer == "cancelled":
                assert await queue.enqueue(id, 2) == Queued()
            await recorder.receive("completed", id)
            payloads = [job.payload for job in handler.jobs if job.id == id]
            assert payloads == ([2] if answer == "cancelled" else [1])


async def test_a_cancel_emits_an_event(harness: Harness) -> None:
    async with harness.queue() as queue:
        recorder = Recorder(queue)
        await queue.enqueue("a", 1)
        await queue.cancel("a")
        await queue.cancel("a")

        assert recorder.find("cancelled") == [("cancelled", "a")]


async def test_one_of_several_callers_that_cancel_a_job_gets_cancelled(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform = harness.store.perform
    all_found_it = asyncio.Barrier(3)

    async def perform_together(operation: Operation[Any]) -> Any:
        if isinstance(operation, CancelChains):
            await all_found_it.wait()
        return await perform(operation)

    async with harness.queue() as queue:
        recorder = Recorder(queue)
        await queue.enqueue("a", 1)
        monkeypatch.setattr(harness.store, "perform", perform_together)

        answers = await soon(asyncio.gather(*[queue.cancel("a") for _ in range(3)]))

        assert sorted(answers) == ["cancelled", "not_found", "not_found"]
        assert recorder.find("cancelled") == [("cancelled", "a")]
