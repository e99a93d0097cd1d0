"""How long the id of a completed job is taken, independently of its result."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import Completed, Duplicate, JobNotFound, Queued, SyncQueue
from holdfast.engine.operations import Prune
from tests.queue.harness import Handler, Harness, fail, soon


async def test_an_id_is_taken_after_its_result_is_gone(harness: Harness) -> None:
    async with harness.queue(Handler(), result_ttl=60, dedup_ttl=3600) as queue:
        await soon(queue.enqueue_and_wait("a", "x"))
        harness.clock.advance(59)
        assert await queue.enqueue("a", "y") == Completed("x")
        harness.clock.advance(1)

        for _ in range(2):
            assert await queue.enqueue("a", "y") == Duplicate("completed")
            assert await queue.result("a") is None
            assert await queue.status("a") is None
            assert (await queue.list()).items == []
            assert await queue.update_result_ttl("a", 60) == "not_found"
            with pytest.raises(JobNotFound, match="'a'"):
                await soon(queue.enqueue_and_wait("a", "y"))
            assert await harness.store.perform(Prune(10)) == []  # and the second round gets the same answers

        harness.clock.advance(3540)
        assert await queue.enqueue("a", "y") == Queued()
        assert await soon(queue.enqueue_and_wait("a", "y")) == "y"


async def test_an_id_is_free_while_its_result_is_kept(harness: Harness) -> None:
    handler = Handler(lambda job: [job.payload])
    async with harness.queue(handler, result_ttl=3600, dedup_ttl=60) as queue:
        await soon(queue.enqueue_and_wait("a", "x"))
        harness.clock.advance(59)
        assert await queue.enqueue("a", "y") == Completed(["x"])
        harness.clock.advance(1)
        assert await queue.result("a") == ["x"]

        assert await queue.enqueue("a", "y", delay=60) == Queued()

        assert await queue.result("a") is None  # the newest job of the id is not completed
        harness.clock.advance(60)
        assert await soon(queue.enqueue_and_wait("a", "y")) == ["y"]


async def test_one_job_has_a_time_of_its_own(harness: Harness) -> None:
    async with harness.queue(Handler(), dedup_ttl=3600) as queue:
        await soon(queue.enqueue_and_wait("a", 1, dedup_ttl=0))
        await soon(queue.enqueue_and_wait("b", 1))

        assert await queue.enqueue("a", 1, delay=60) == Queued()
        assert await queue.enqueue("b", 1, delay=60) == Completed(1)


async def test_a_failed_job_frees_its_id_whatever_its_time(harness: Harness) -> None:
    async with harness.queue(Handler(fail), max_retries=0, dedup_ttl=3600) as queue:
        with pytest.raises(Exception, match="no luck"):
            await soon(queue.enqueue_and_wait("a", 1))

        assert await queue.enqueue("a", 1, delay=60) == Queued()


async def test_a_blocking_producer_has_it_too(harness: Harness) -> None:
    def produce() -> list[object]:
        queue: SyncQueue[int, int] = SyncQueue("emails", store=harness.store, result_ttl=60, dedup_ttl=3600)
        with queue:
            queue.enqueue_and_wait("a", 1)
            harness.clock.advance(60)
            return [queue.enqueue("a", 1), queue.enqueue("b", 1, dedup_ttl=5), queue.result("a")]

    async with harness.queue(Handler()):
        assert await soon(asyncio.to_thread(produce)) == [Duplicate("completed"), Queued(), None]


async def test_a_time_that_is_none_is_refused(harness: Harness) -> None:
    with pytest.raises(ValueError, match="dedup_ttl must be at least 0 seconds"):
        harness.queue(dedup_ttl=-1)
    async with harness.queue() as queue:
        with pytest.raises(TypeError, match="dedup_ttl must be seconds"):
            await queue.enqueue("a", 1, dedup_ttl="soon")  # type: ignore[arg-type]
