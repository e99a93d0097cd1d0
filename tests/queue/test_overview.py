"""Counts and lists of a queue's jobs, and pausing."""

from __future__ import annotations

import pytest

from holdfast.engine.operations import GetAudit
from holdfast.queue import QueueCounts
from tests.queue.harness import Handler, Harness, Recorder, fail, soon


async def one_of_each_state(harness: Harness) -> None:
    """The jobs are called like their state; one more was cancelled, and one is past its time to live."""

    def act(job: object) -> object:
        return fail(job) if getattr(job, "payload", None) == "bad" else None  # type: ignore[arg-type]

    handler = Handler(act)
    queue = harness.queue(handler, retry=None, max_retries=0)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("gone", "good", result_ttl=1)
        await recorder.receive("completed", "gone")
        harness.clock.advance(1)
        await queue.enqueue("completed", "good")
        await recorder.receive("completed", "completed")
        await queue.enqueue("failed", "bad")
        await recorder.receive("failed", "failed")
        await queue.enqueue("failing", "bad", max_attempts=2)
        await recorder.receive("failing", "failing")
    async with harness.queue() as producer:
        await producer.enqueue("processing", "good")
        await harness.claim()
        await producer.enqueue("queued", "good")
        await producer.enqueue("scheduled", "good", delay=60)
        await producer.enqueue("blocked", "good", after=["scheduled"])
        await producer.enqueue("cancelled", "good")
        await producer.cancel("cancelled")


async def test_counts_are_by_state(harness: Harness) -> None:
    await one_of_each_state(harness)

    async with harness.queue() as queue, harness.queue(name="other") as other:
        counts = await queue.counts()
        assert await other.counts() == QueueCounts(0, 0, 0, 0, 0, scheduled=0, paused=False)

    assert (counts.queued, counts.processing, counts.failing, counts.failed) == (3, 1, 1, 1)
    assert counts.completed - 1 in (0, 1)  # one may have been pruned
    assert counts.scheduled == 2
    assert not counts.paused


async def test_jobs_are_listed_by_state_newest_first(harness: Harness) -> None:
    await one_of_each_state(harness)

    async with harness.queue() as queue, harness.queue(name="other") as other:
        everything = await queue.list()
        assert (await other.list()).items == []
        by_state = {
            state: [job.id for job in (await queue.list(state)).items]
            for state in ("queued", "processing", "failing", "completed", "failed")
        }
        with pytest.raises(ValueError, match="'cancelled' is no state; the states are queued, processing, failing"):
            await queue.list("cancelled")  # type: ignore[arg-type]

    assert [job.id for job in everything.items] == [
        "blocked", "scheduled", "queued", "processing", "failing", "failed", "completed",
    ]  # fmt: skip
    assert everything.next_cursor is None
    assert by_state == {
        "queued": ["blocked", "scheduled", "queued"],
        "processing": ["processing"],
        "failing": ["failing"],
        "completed": ["completed"],
        "failed": ["failed"],
    }
    assert {(job.id, job.state) for job in everything.items if job.state != "queued"} == {
        (state, state) for state in ("processing", "failing", "completed", "failed")
    }
    assert [job.payload for job in everything.items] == ["good"] * 4 + ["bad"] * 2 + ["good"]


async def test_a_list_is_read_page_by_page(harness: Harness) -> None:
    async with harness.queue() as queue:
        await queue.enqueue_many([(str(number), number) for number in range(5)])

        first = await queue.list(limit=2)
        second = await queue.list(limit=2, cursor=first.next_cursor)
        third = await queue.list(limit=2, cursor=second.next_cursor)

    assert [job.id for page in (first, second, third) for job in page.items] == ["4", "3", "2", "1", "0"]
    assert third.next_cursor is None


async def test_the_audit_shows_who_paused_a_queue(harness: Harness) -> None:
    async with harness.queue() as queue:
        await queue.pause(reason="migration")
        await queue.pause()
        await queue.resume()

    entries = await harness.store.perform(GetAudit(9))
    assert [(entry.action, entry.target, entry.reason) for entry in entries] == [
        ("resume", "queue:emails", None),
        ("pause", "queue:emails", "migration"),
    ]


async def test_a_paused_queue_runs_nothing_until_it_is_resumed(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue() as operator:
        await operator.pause()
        assert (await operator.counts()).paused
        async with harness.queue(handler) as queue, harness.queue(Handler(), name="other") as other:
            await queue.enqueue("a", 1)
            await soon(other.enqueue_and_wait("b", 1))
            assert handler.ids == []

            await operator.resume()

            assert await soon(queue.enqueue_and_wait("a", 1)) == 1
        assert not (await operator.counts()).paused
