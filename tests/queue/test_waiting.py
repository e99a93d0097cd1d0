"""Enqueue and wait: request and response over the queue."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import (
    AttemptsExhausted,
    Duplicate,
    Fail,
    JobCancelled,
    JobFailed,
    JobNotFound,
    Queued,
    QueueJob,
    Store,
    WaitTimeout,
)
from holdfast.client import waiting
from holdfast.engine.operations import Delete
from holdfast.engine.wakeups import NoWakeups
from tests.queue.stage import LEASE, PATIENCE, Handler, Recorder, Stage, fail, fail_until, soon


async def test_the_result_is_answered_as_soon_as_it_is_there(stage: Stage) -> None:
    async with stage.queue(Handler(lambda job: job.payload * 2)) as queue:
        assert await soon(queue.enqueue_and_wait("a", 21)) == 42


async def test_a_kept_result_is_answered_at_once_without_a_consumer(stage: Stage) -> None:
    async with stage.queue(Handler()) as queue:
        await soon(queue.enqueue_and_wait("a", "first"))

    async with stage.queue() as producer:
        assert await soon(producer.enqueue_and_wait("a", "second")) == "first"


async def test_a_job_that_others_enqueued_is_waited_for(stage: Stage) -> None:
    handler = Handler(hold=True)
    async with stage.queue(handler) as queue:
        await queue.enqueue("a", "first")
        await handler.begun()
        pending = asyncio.create_task(queue.enqueue_and_wait("a", "second"))
        handler.let_go()

        assert await soon(pending) == "first"


async def test_any_number_may_wait_for_one_id_and_the_job_runs_once(stage: Stage) -> None:
    handler = Handler(hold=True)
    async with stage.queue(handler) as queue:
        waiters = [asyncio.create_task(queue.enqueue_and_wait("a", number)) for number in range(20)]
        await handler.begun()
        handler.let_go()

        results = await soon(asyncio.gather(*waiters))

    assert len(handler.jobs) == 1
    assert results == [handler.jobs[0].payload] * 20


async def test_one_waiters_timeout_does_not_disturb_another(stage: Stage) -> None:
    handler = Handler(hold=True)
    async with stage.queue(handler) as queue:
        patient = asyncio.create_task(queue.enqueue_and_wait("a", 1, timeout=60))
        await handler.begun()
        with pytest.raises(WaitTimeout) as timeout:
            await queue.enqueue_and_wait("a", 1, timeout=0.01)
        handler.let_go()

        assert await soon(patient) == 1

    assert (timeout.value.id, timeout.value.timeout) == ("a", 0.01)
    assert str(timeout.value) == "job 'a' was not finished after 0.01 s; it goes on, wait again for it"


async def test_a_timeout_ends_the_wait_and_not_the_job(stage: Stage) -> None:
    async with stage.queue() as producer:
        with pytest.raises(WaitTimeout):
            await producer.enqueue_and_wait("a", 1, timeout=0.01)
        assert await producer.enqueue("a", 1) == Duplicate("queued")

    async with stage.queue(Handler()) as consumer:
        assert await soon(consumer.enqueue_and_wait("a", 2)) == 1


@pytest.mark.parametrize("result", [None, False, 0, "", [], {}])
async def test_a_result_that_is_nothing_much_is_a_result(stage: Stage, result: Any) -> None:
    async with stage.queue(Handler(lambda job: result)) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == result
        assert await soon(queue.enqueue_and_wait("a", 1)) == result


async def test_a_handler_may_return_nothing(stage: Stage) -> None:
    async def nothing(job: QueueJob[Any]) -> None:
        pass

    async with stage.queue(nothing) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) is None


async def test_a_large_result_arrives_whole(stage: Stage) -> None:
    large = "é" * 2_000_000
    async with stage.queue(Handler(lambda job: large)) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == large


async def test_the_result_of_a_retried_job_is_answered(stage: Stage) -> None:
    handler = Handler(fail_until(3))
    async with stage.queue(handler, max_retries=2) as queue:
        assert await soon(queue.enqueue_and_wait("a", "x")) == "x"

    assert [job.attempts for job in handler.jobs] == [1, 2, 3]


async def test_the_result_of_a_recovered_job_is_answered(stage: Stage) -> None:
    async with stage.queue() as producer:
        recorder = Recorder(producer)
        pending = asyncio.create_task(producer.enqueue_and_wait("a", "x"))
        await recorder.receive("enqueued", "a")
        await stage.claim()
        handler = Handler()
        async with stage.queue(handler):
            stage.clock.advance(LEASE + 1)

            assert await soon(pending) == "x"

    assert [job.attempts for job in handler.jobs] == [2]


async def test_a_failure_tells_the_original_errors_type_message_and_traceback(stage: Stage) -> None:
    async with stage.queue(Handler(fail), max_retries=1) as queue:
        with pytest.raises(AttemptsExhausted) as failure:
            await soon(queue.enqueue_and_wait("a", 1))

    error: Any = failure.value.error
    assert failure.value.id == failure.value.job_id == "a"
    assert (error.type, error.message) == ("ValueError", "no luck with attempt 2")
    assert "in fail\n" in error.traceback
    assert str(failure.value) == "job 'a' failed: ValueError: no luck with attempt 2"


async def test_a_job_that_gives_up_early_failed_but_did_not_exhaust_its_attempts(stage: Stage) -> None:
    def give_up(job: QueueJob[Any]) -> None:
        raise Fail("there is no such address")

    async with stage.queue(give_up) as queue:
        with pytest.raises(JobFailed, match="no such address") as failure:
            await soon(queue.enqueue_and_wait("a", 1))

    assert not isinstance(failure.value, AttemptsExhausted)


async def test_waiting_for_an_id_that_failed_before_runs_it_again(stage: Stage) -> None:
    handler = Handler(fail)
    async with stage.queue(handler, max_retries=0) as queue:
        for _ in range(2):
            with pytest.raises(JobFailed):
                await soon(queue.enqueue_and_wait("a", 1))

    assert len(handler.jobs) == 2


async def test_a_cancelled_job_ends_the_wait_at_once(stage: Stage) -> None:
    async with stage.queue() as queue:
        recorder = Recorder(queue)
        pending = asyncio.create_task(queue.enqueue_and_wait("a", 1))
        await recorder.receive("enqueued", "a")

        assert await queue.cancel("a") == "cancelled"
        with pytest.raises(JobCancelled) as cancelled:
            await soon(pending)

        assert cancelled.value.id == "a"
        assert await queue.enqueue("a", 2) == Queued()


async def test_a_deleted_job_ends_the_wait(stage: Stage) -> None:
    async with stage.queue() as queue:
        recorder = Recorder(queue)
        pending = asyncio.create_task(queue.enqueue_and_wait("a", 1))
        await recorder.receive("enqueued", "a")
        record = await stage.claim()
        await stage.store.perform(Delete((record.chain_id,)))

        with pytest.raises(JobNotFound):
            await soon(pending)


async def test_a_result_that_is_kept_for_a_moment_only_still_reaches_its_waiter(stage: Stage) -> None:
    def later(job: QueueJob[Any]) -> str:
        stage.clock.advance(10)
        return "x"

    async with stage.queue(Handler(later), result_ttl=0.001) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == "x"


async def test_a_result_is_heard_of_and_not_polled_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "POLL", 100 * PATIENCE)
    async with stage.queue(Handler()) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1, timeout=None)) == 1


async def test_without_wakeups_results_arrive_all_the_same(store: Store, stage: Stage) -> None:
    store.wakeups = NoWakeups()

    async with stage.queue(Handler(), poll_interval=0.01) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == 1


async def test_the_wait_may_have_no_end(stage: Stage) -> None:
    async with stage.queue(Handler()) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1, timeout=None)) == 1
