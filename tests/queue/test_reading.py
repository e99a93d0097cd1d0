"""Result, status, and how long they last."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.core.clock import to_datetime
from holdfast.engine.operations import Complete, Completion
from tests.queue.harness import Handler, Harness, Recorder, fail, soon


async def test_there_is_no_result_before_completion_nor_for_an_unknown_id(harness: Harness) -> None:
    queue = harness.queue(Handler(fail), max_retries=0)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("later", 1, delay=60)
        await queue.enqueue("failed", 1)
        await recorder.receive("failed", "failed")

        for id in ("unknown", "later", "failed"):
            assert await queue.result(id) is None


async def test_a_status_has_state_attempts_and_times(harness: Harness) -> None:
    handler = Handler(fail, hold=True)
    created = to_datetime(harness.clock())
    async with harness.queue(max_retries=1) as producer:
        await producer.enqueue("a", 1)
        harness.clock.advance(10)
        queued = await producer.status("a")
        assert queued is not None
        assert (queued.id, queued.state, queued.attempts, queued.max_attempts) == ("a", "queued", 0, 2)
        assert (queued.created_at, queued.changed_at, queued.error) == (created, created, None)

        consumer = harness.queue(handler, retry=None)
        recorder = Recorder(consumer)
        async with consumer:
            await handler.begun()
            harness.clock.advance(10)
            running = await producer.status("a")
            assert running is not None
            assert (running.state, running.attempts) == ("processing", 1)
            assert (running.created_at, running.changed_at) == (created, created + timedelta(seconds=10))

            handler.let_go()
            await recorder.receive("failing", "a")
            harness.clock.advance(0.1)
            failing = await producer.status("a")
            assert failing is not None
            assert (failing.state, failing.attempts) == ("failing", 1)
            assert failing.changed_at == created + timedelta(seconds=20)
            assert failing.error == "ValueError: no luck with attempt 1"

            harness.clock.advance(60)
            await recorder.receive("failed", "a")
            failed = await producer.status("a")
            assert failed is not None
            assert (failed.state, failed.attempts, failed.result) == ("failed", 2, None)
            assert (failed.created_at, failed.changed_at) == (created, created + timedelta(seconds=80.1))
            assert failed.error == "ValueError: no luck with attempt 2"


async def test_the_status_of_a_completed_job_has_its_result(harness: Harness) -> None:
    async with harness.queue(Handler(lambda job: ["done"])) as queue:
        await soon(queue.enqueue_and_wait("a", 1))

        status = await queue.status("a")

    assert status is not None
    assert (status.state, status.result, status.error, status.attempts) == ("completed", ["done"], None, 1)


async def test_an_unknown_or_cancelled_id_has_no_status(harness: Harness) -> None:
    async with harness.queue() as queue:
        await queue.enqueue("a", 1)
        await queue.cancel("a")

        assert await queue.status("a") is None
        assert await queue.status("b") is None


async def test_results_and_errors_go_when_their_time_to_live_is_over(harness: Harness) -> None:
    queue = harness.queue(Handler(lambda job: fail(job) if job.payload == "bad" else job.payload), max_retries=0)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue_many([("good", "good"), ("bad", "bad")], result_ttl=60)
        await recorder.receive("completed", "good")
        await recorder.receive("failed", "bad")
        harness.clock.advance(59)
        assert await queue.result("good") == "good"
        assert (await queue.status("bad")) is not None

        harness.clock.advance(1)

        assert await queue.result("good") is None
        assert await queue.status("good") is None
        assert await queue.status("bad") is None


async def test_the_time_to_live_of_a_finished_job_is_changed_from_now_on(harness: Harness) -> None:
    queue = harness.queue(Handler(lambda job: fail(job) if job.payload == "bad" else job.payload), max_retries=0)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue_many([("good", "good"), ("bad", "bad"), ("brief", "x")], result_ttl=60)
        for event, id in (("completed", "good"), ("failed", "bad"), ("completed", "brief")):
            await recorder.receive(event, id)
        harness.clock.advance(50)

        assert await queue.update_result_ttl("good", 60) == "updated"
        assert await queue.update_result_ttl("bad", timedelta(minutes=1)) == "updated"
        assert await queue.update_result_ttl("brief", 5) == "updated"

        harness.clock.advance(6)
        assert await queue.result("brief") is None
        harness.clock.advance(50)
        assert await queue.result("good") == "good"
        assert (await queue.status("bad")) is not None
        harness.clock.advance(5)
        assert await queue.result("good") is None


async def test_a_time_to_live_that_cannot_be_changed_says_why(harness: Harness) -> None:
    handler = Handler(hold=True)
    async with harness.queue(handler, result_ttl=60) as queue:
        assert await queue.update_result_ttl("unknown", 60) == "not_found"

        await queue.enqueue("later", 1, delay=60)
        assert await queue.update_result_ttl("later", 60) == "not_terminal"
        await queue.cancel("later")
        assert await queue.update_result_ttl("later", 60) == "not_found"

        await queue.enqueue("a", 1)
        await handler.begun()
        assert await queue.update_result_ttl("a", 60) == "not_terminal"
        handler.let_go()
        await soon(queue.enqueue_and_wait("a", 1))
        harness.clock.advance(60)
        assert await queue.update_result_ttl("a", 60) == "not_found"


async def test_a_job_that_was_completed_without_a_result_has_no_payload_to_keep(harness: Harness) -> None:
    async with harness.queue() as queue:
        await queue.enqueue("a", 1)
        record = await harness.claim()
        await harness.store.perform(Complete(record.chain_id, record.id, (Completion(),)))

        assert await queue.update_result_ttl("a", 60) == "missing_payload"


async def test_a_new_time_to_live_is_a_time(harness: Harness) -> None:
    async with harness.queue() as queue:
        with pytest.raises(TypeError, match="result_ttl must be seconds"):
            await queue.update_result_ttl("a", None)  # type: ignore[arg-type]
