"""Jobs that wait for other jobs."""

from __future__ import annotations

import pytest

from holdfast import Client, DependencyCycle, Duplicate, JobFailed, JobNotFound, Jobs, Queued
from tests.queue.harness import Handler, Harness, Recorder, fail, soon

jobs = Jobs()


@jobs.job
def elsewhere() -> None:
    """A job that is not of the queue."""


async def test_a_job_runs_after_the_jobs_it_names(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue() as producer:
        await producer.enqueue_many([("a", 1), ("b", 2)], delay=60)
        assert await producer.enqueue("c", 3, after=["a", "b"]) == Queued()
        assert await producer.enqueue("c", 3) == Duplicate("queued")

        queue = harness.queue(handler)
        recorder = Recorder(queue)
        async with queue:
            harness.clock.advance(60)
            await recorder.receive("completed", "c")

    assert sorted(handler.ids[:2]) == ["a", "b"]
    assert handler.ids[2:] == ["c"]


async def test_a_job_whose_blockers_are_completed_runs_at_once(harness: Harness) -> None:
    async with harness.queue(Handler()) as queue:
        await soon(queue.enqueue_and_wait("a", 1))

        assert await soon(queue.enqueue_and_wait("b", 2, after=["a"])) == 2


async def test_a_job_waits_for_a_failure_or_an_end(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue() as producer:
        await producer.enqueue("a", 1, delay=60)
        assert await producer.enqueue("b", 2, after=["a"], when="failed") == Queued()
        assert await producer.enqueue("c", 3, after=["a"], when="ended") == Queued()
        with pytest.raises(ValueError, match="needs after="):
            await producer.enqueue("d", 4, when="ended")
        with pytest.raises(ValueError, match="needs after="):
            await producer.enqueue("d", 4, when="ended", after=[])
        queue = harness.queue(handler)
        recorder = Recorder(queue)
        async with queue:
            assert await producer.cancel("a") == "cancelled"
            await recorder.receive("completed", "b")
            await recorder.receive("completed", "c")

    assert sorted(handler.ids) == ["b", "c"]


async def test_the_newest_job_of_an_id_is_the_blocker(harness: Harness) -> None:
    async with harness.queue() as queue:
        await queue.enqueue("a", 1, delay=60)
        await queue.cancel("a")
        await queue.enqueue("a", 1, delay=60)
        await queue.enqueue("b", 2, after=["a"])
        harness.clock.advance(60)
        handler = Handler()
        async with harness.queue(handler):
            await handler.begun(times=2)

    assert handler.ids == ["a", "b"]


async def test_a_chain_of_any_type_is_a_blocker_by_object_or_id(harness: Harness) -> None:
    async with harness.queue() as queue, Client(harness.store, jobs) as client:
        chain = await client.start(elsewhere.bind())
        await queue.enqueue("by object", 1, after=[chain])
        await queue.enqueue("by id", 1, after=[chain.id])
        handler = Handler()
        async with harness.queue(handler):
            assert handler.ids == []
            async with client.completing(chain) as current:
                await current.output(None)
            await handler.begun(times=2)

    assert sorted(handler.ids) == ["by id", "by object"]


async def test_an_unknown_blocker_is_refused_by_name(harness: Harness) -> None:
    async with harness.queue() as queue, harness.queue(name="other") as other:
        await other.enqueue("elsewhere", 1)
        for id in ("unknown", "elsewhere"):
            with pytest.raises(JobNotFound, match=f"there is no job '{id}'"):
                await queue.enqueue("a", 1, after=[id])

        assert await queue.status("a") is None


async def test_a_job_that_would_wait_for_itself_is_refused(harness: Harness) -> None:
    async with harness.queue() as queue:
        await queue.enqueue("a", 1)

        with pytest.raises(DependencyCycle, match="'b' waits for itself"):
            await queue.enqueue("b", 1, after=["a", "b"])
        with pytest.raises(DependencyCycle, match="'b' waits for itself"):
            await queue.enqueue_many([("c", 1), ("b", 1)], after=["b"])
        with pytest.raises(TypeError, match="after takes a list of ids"):
            await queue.enqueue("b", 1, after="a")  # a str is iterable

        assert await queue.status("b") is None


async def test_a_job_waits_for_a_failed_blocker_unless_it_shall_fail_with_it(harness: Harness) -> None:
    queue = harness.queue(Handler(fail), max_retries=0)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", 1)
        await recorder.receive("failed", "a")
        await queue.enqueue("waits", 1, after=["a"])
        with pytest.raises(JobFailed, match="BlockerFailed"):
            await soon(queue.enqueue_and_wait("fails", 1, after=["a"], on_blocker_failure="fail"))

        status = await queue.status("waits")
        assert status is not None
        assert status.state == "queued"
