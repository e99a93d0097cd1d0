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
from tests.queue.harness import LEASE, TIMEOUT, Handler, Harness, Recorder, fail, fail_until, soon


async def test_the_result_is_answered_as_soon_as_it_is_there(harness: Harness) -> None:
    async with harness.queue(Handler(lambda job: job.payload * 2)) as queue:
        assert await soon(queue.enqueue_and_wait("a", 21)) == 42


async def test_a_kept_result_is_answered_at_once_without_a_consumer(harness: Harness) -> None:
    async with harness.queue(Handler()) as queue:
        await soon(queue.enqueue_and_wait("a", "first"))

    async with harness.queue() as producer:
        assert await soon(producer.enqueue_and_wait("a", "second")) == "first"


async def test_a_job_that_others_enqueued_is_waited_for(harness: Harness) -> None:
    handler = Handler(hold=True)
    async with harness.queue(handler) as queue:
        await queue.enqueue("a", "first")
        await handler.begun()
        pending = asyncio.create_task(queue.enqueue_and_wait("a", "second"))
        handler.let_go()

        assert await soon(pending) == "first"


async def test_any_number_may_wait_for_one_id_and_the_job_runs_once(harness: Harness) -> None:
    handler = Handler(hold=True)
    async with harness.queue(handler) as queue:
        waiters = [asyncio.create_task(queue.enqueue_and_wait("a", number)) for number in range(20)]
        await handler.begun()
        handler.let_go()

        results = await soon(asyncio.gather(*waiters))

    assert len(handler.jobs) == 1
    assert results == [handler.jobs[0].payload] * 20


async def test_one_waiters_timeout_does_not_disturb_another(harness: Harness) -> None:
    handler = Handler(hold=True)
    async with harness.queue(handler) as queue:
        patient = asyncio.create_task(queue.enqueue_and_wait("a", 1, timeout=60))
        await handler.begun()
        with pytest.raises(WaitTimeout) as timeout:
            await queue.enqueue_and_wait("a", 1, timeout=0.01)
        handler.let_go()

        assert await soon(patient) == 1

    assert (timeout.value.id, timeout.value.timeout) == ("a", 0.01)
    assert str(timeout.value) == "job 'a' was not finished after 0.01 s; it continues, wait for it again"


async def test_a_timeout_ends_the_wait_and_not_the_job(harness: Harness) -> None:
    async with harness.queue() as producer:
        with pytest.raises(WaitTimeout):
            await producer.enqueue_and_wait("a", 1, timeout=0.01)
        assert await producer.enqueue("a", 1) == Duplicate("queued")

    async with harness.queue(Handler()) as consumer:
        assert await soon(consumer.enqueue_and_wait("a", 2)) == 1


@pytest.mark.parametrize("result", [None, False, 0, "", [], {}])
async def test_a_result_that_is_nothing_much_is_a_result(harness: Harness, result: Any) -> None:
    async with harness.queue(Handler(lambda job: result)) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == result
        assert await soon(queue.enqueue_and_wait("a", 1)) == result


async def test_a_handler_may_return_nothing(harness: Harness) -> None:
    async def nothing(job: QueueJob[Any]) -> None:
        pass

    async with harness.queue(nothing) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) is None


async def test_a_large_result_arrives_whole(harness: Harness) -> None:
    large = "é" * 2_000_000
    async with harness.queue(Handler(lambda job: large)) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == large


async def test_the_result_of_a_retried_job_is_answered(harness: Harness) -> None:
    handler = Handler(fail_until(3))
    async with harness.queue(handler, max_retries=2) as queue:
        assert await soon(queue.enqueue_and_wait("a", "x")) == "x"

    assert [job.attempts for job in handler.jobs] == [1, 2, 3]


async def test_the_result_of_a_recovered_job_is_answered(harness: Harness) -> None:
    async with harness.queue() as producer:
        recorder = Recorder(producer)
        pending = asyncio.create_task(producer.enqueue_and_wait("a", "x"))
        await recorder.receive("enqueued", "a")
        await harness.claim()
        handler = Handler()
        async with harness.queue(handler):
            harness.clock.advance(LEASE + 1)

            assert await soon(pending) == "x"

    assert [job.attempts for job in handler.jobs] == [2]


async def test_a_failure_has_the_original_errors_type_message_and_traceback(harness: Harness) -> None:
    async with harness.queue(Handler(fail), max_retries=1) as queue:
        with pytest.raises(AttemptsExhausted) as failure:
            await soon(queue.enqueue_and_wait("a", 1))

    error: Any = failure.value.error
    assert failure.value.id == failure.value.job_id == "a"
    assert (error.type, error.message) == ("ValueError", "no luck with attempt 2")
    assert "in fail\n" in error.traceback
    assert str(failure.value) == "job 'a' failed: ValueError: no luck with attempt 2"


async def test_a_job_that_gives_up_early_failed_but_did_not_exhaust_its_attempts(harness: Harness) -> None:
    def give_up(job: QueueJob[Any]) -> None:
        raise Fail("there is no such address")

    async with harness.queue(give_up) as queue:
        with pytest.raises(JobFailed, match="no such address") as failure:
            await soon(queue.enqueue_and_wait("a", 1))

    assert not isinstance(failure.value, AttemptsExhausted)


async def test_waiting_for_an_id_that_failed_before_runs_it_again(harness: Harness) -> None:
    handler = Handler(fail)
    async with harness.queue(handler, max_retries=0) as queue:
        for _ in range(2):
            with pytest.raises(JobFailed):
                await soon(queue.enqueue_and_wait("a", 1))

    assert len(handler.jobs) == 2


async def test_a_cancelled_job_ends_the_wait_at_once(harness: Harness) -> None:
    async with harness.queue() as queue:
        recorder = Recorder(queue)
        pending = asyncio.create_task(queue.enqueue_and_wait("a", 1))
        await recorder.receive("enqueued", "a")

        assert await queue.cancel("a") == "cancelled"
        with pytest.raises(JobCancelled) as cancelled:
            await soon(pending)

        assert cancelled.value.id == "a"
        assert await queue.enqueue("a", 2) == Queued()


async def test_a_deleted_job_ends_the_wait(harness: Harness) -> None:
    async with harness.queue() as queue:
        recorder = Recorder(queue)
        pending = asyncio.create_task(queue.enqueue_and_wait("a", 1))
        await recorder.receive("enqueued", "a")
        record = await harness.claim()
        await harness.store.perform(Delete((record.chain_id,)))

        with pytest.raises(JobNotFound):
            await soon(pending)


async def test_a_result_that_is_kept_for_a_moment_only_still_reaches_its_waiter(harness: Harness) -> None:
    def later(job: QueueJob[Any]) -> str:
        harness.clock.advance(10)
        return "x"

    async with harness.queue(Handler(later), result_ttl=0.001) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == "x"


async def test_a_result_arrives_by_a_wake_up_not_by_polling(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "POLL", 100 * TIMEOUT)
    async with harness.queue(Handler()) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1, timeout=None)) == 1


async def test_without_wakeups_results_arrive_all_the_same(store: Store, harness: Harness) -> None:
    store.wakeups = NoWakeups()

    async with harness.queue(Handler(), poll_interval=0.01) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == 1


async def test_the_wait_may_have_no_end(harness: Harness) -> None:
    async with harness.queue(Handler()) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1, timeout=None)) == 1
