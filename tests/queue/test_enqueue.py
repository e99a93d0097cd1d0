"""Enqueue: one job per id, for any number of callers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Completed, Duplicate, Queue, Queued
from holdfast.testing.conformance import StoreFactory
from tests.queue.harness import Handler, Harness, Recorder, fail, soon

ODD_IDS = [
    "user:1",
    "a/b/../c",
    "../escaped",
    "x:exp",
    "snow ☃ and 𝄞",
    "with spaces\tand\nlines",
    "'; drop table job; --",
    "{braces}*?[a]\\",
    "%s :id $1 KEYS[1]",
    "é",
    " ",
    "a" * 512,
]


async def test_a_new_id_is_queued_and_runs(harness: Harness) -> None:
    handler = Handler()
    queue = harness.queue(handler)
    recorder = Recorder(queue)

    async with queue:
        assert await queue.enqueue("a", {"to": "you"}) == Queued()
        await recorder.receive("completed", "a")

    assert [(job.id, job.payload, job.attempts) for job in handler.jobs] == [("a", {"to": "you"}, 1)]


async def test_an_unfinished_id_is_a_duplicate_with_its_state(harness: Harness) -> None:
    handler = Handler(fail, hold=True)
    async with harness.queue() as producer:
        await producer.enqueue("a", 1)
        assert await producer.enqueue("a", 2) == Duplicate("queued")

        async with harness.queue(handler, retry=None, max_retries=1) as consumer:
            recorder = Recorder(consumer)
            await handler.begun()
            assert await producer.enqueue("a", 3) == Duplicate("processing")
            handler.let_go()
            await recorder.receive("failing", "a")
            assert await producer.enqueue("a", 4) == Duplicate("failing")

    assert [job.payload for job in handler.jobs] == [1]


async def test_a_completed_id_answers_its_result_and_does_not_run_again(harness: Harness) -> None:
    handler = Handler(lambda job: {"sent": job.payload})
    async with harness.queue(handler) as queue:
        await soon(queue.enqueue_and_wait("a", 1))

        assert await queue.enqueue("a", 2) == Completed({"sent": 1})

    assert handler.ids == ["a"]


async def test_dedup_lasts_as_long_as_the_result(harness: Harness) -> None:
    async with harness.queue(Handler(), result_ttl=60) as queue:
        await soon(queue.enqueue_and_wait("a", 1))

        harness.clock.advance(59.9)
        assert await queue.enqueue("a", 2) == Completed(1)
        harness.clock.advance(0.2)
        assert await queue.enqueue("a", 2) == Queued()


async def test_failed_and_cancelled_ids_may_be_enqueued_again(harness: Harness) -> None:
    queue = harness.queue(Handler(fail), max_retries=0)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", 1)
        await recorder.receive("failed", "a")
        assert await queue.enqueue("a", 2) == Queued()
        await recorder.receive("failed", "a", times=2)

        await queue.enqueue("b", 1, delay=60)
        await queue.cancel("b")
        assert await queue.enqueue("b", 2, delay=60) == Queued()


async def test_of_64_callers_with_one_id_one_makes_a_job(harness: Harness, make_store: StoreFactory) -> None:
    other = make_store()
    other.clock = harness.clock
    handler = Handler()
    async with harness.queue() as one, harness.queue(store=other) as two:
        answers = await asyncio.gather(*[queue.enqueue("a", number) for number, queue in enumerate([one, two] * 32)])

        assert sum(answer == Queued() for answer in answers) == 1
        assert sum(answer == Duplicate("queued") for answer in answers) == 63
        async with harness.queue(handler) as consumer:
            recorder = Recorder(consumer)
            await recorder.receive("completed", "a")
        assert handler.ids == ["a"]
    await other.close()


async def test_replace_and_debounce_change_the_payload_of_a_job_that_has_not_begun(harness: Harness) -> None:
    handler = Handler()
    queue = harness.queue(handler)
    recorder = Recorder(queue)
    async with harness.queue() as producer:
        assert await producer.enqueue("a", 1, delay=60) == Queued()
        assert await producer.enqueue("a", 2, replace=True) == Duplicate("queued")
        with pytest.raises(ValueError, match="needs debounce"):
            await producer.enqueue("a", 3, debounce_max=5)
        async with queue:
            await recorder.receive("completed", "a")
            # The id of a completed job is free for a job that replaces, since nothing waits under it.
            assert await producer.enqueue("a", 4) == Completed(2)
            assert await producer.enqueue("a", 5, debounce=5) == Queued()
            assert await producer.enqueue("a", 6, debounce=5, debounce_max=60) == Duplicate("queued")

    assert [job.payload for job in handler.jobs] == [2]


@pytest.mark.parametrize("id", ODD_IDS)
async def test_an_id_may_contain_anything(harness: Harness, id: str) -> None:
    handler = Handler()
    queue = harness.queue(handler)
    recorder = Recorder(queue)
    async with queue:
        assert await soon(queue.enqueue_and_wait(id, "x")) == "x"
        await recorder.receive("completed", id)
        assert await queue.result(id) == "x"
        assert await queue.enqueue(id, "y") == Completed("x")
        assert await queue.cancel(id) == "completed"
        assert await queue.result(id + "!"[: 512 - len(id)]) == (None if len(id) < 512 else "x")

    assert handler.ids == [id]


@pytest.mark.parametrize(
    ("id", "error"),
    [("", ValueError), ("a" * 513, ValueError), ("a\0b", ValueError), (7, TypeError), (None, TypeError)],
)
async def test_an_impossible_id_is_refused_before_anything_is_written(
    harness: Harness, id: str, error: type[Exception]
) -> None:
    async with harness.queue() as queue:
        with pytest.raises(error, match="id"):
            await queue.enqueue(id, 1)
        with pytest.raises(error, match="id"):
            await queue.status(id)


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), "60", True])
async def test_an_impossible_time_to_live_is_refused_before_anything_is_written(harness: Harness, ttl: float) -> None:
    async with harness.queue() as queue:
        with pytest.raises((ValueError, TypeError), match="result_ttl must"):
            await queue.enqueue("a", 1, result_ttl=ttl)
        with pytest.raises((ValueError, TypeError), match="result_ttl must"):
            await queue.update_result_ttl("a", ttl)
        with pytest.raises((ValueError, TypeError), match="result_ttl must"):
            harness.queue(result_ttl=ttl)

        assert await queue.status("a") is None


async def test_max_attempts_are_refused_below_one(harness: Harness) -> None:
    async with harness.queue() as queue:
        for attempts in (0, -1):
            with pytest.raises(ValueError, match="max_attempts"):
                await queue.enqueue("a", 1, max_attempts=attempts)


async def test_max_attempts_of_one_job_count_before_the_queues(harness: Harness) -> None:
    handler = Handler(fail)
    queue = harness.queue(handler, max_retries=0)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", 1, max_attempts=3)
        await recorder.receive("failed", "a")

    assert [job.attempts for job in handler.jobs] == [1, 2, 3]
    assert {job.max_attempts for job in handler.jobs} == {3}


async def test_the_time_to_live_is_the_producers_and_the_first_one_counts(harness: Harness) -> None:
    async with harness.queue(result_ttl=10) as producer, harness.queue(Handler(), result_ttl=1000) as consumer:
        recorder = Recorder(consumer)
        await producer.enqueue("a", 1)
        await producer.enqueue("b", 1, result_ttl=100)
        await producer.enqueue("b", 1, result_ttl=5)
        await recorder.receive("completed", "a")
        await recorder.receive("completed", "b")

        harness.clock.advance(50)
        assert await producer.result("a") is None
        assert await producer.result("b") == 1
        harness.clock.advance(51)
        assert await producer.result("b") is None


async def test_a_delayed_job_waits_for_its_time(harness: Harness) -> None:
    handler = Handler()
    queue = harness.queue(handler)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("later", 1, delay=60)
        assert await soon(queue.enqueue_and_wait("now", 2)) == 2
        assert handler.ids == ["now"]

        harness.clock.advance(60)
        await recorder.receive("completed", "later")


async def test_higher_priority_runs_first_and_equals_in_order(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue() as producer:
        await producer.enqueue("low", 1)
        await producer.enqueue("first", 1, priority=5)
        await producer.enqueue("second", 1, priority=5)

    consumer = harness.queue(handler, concurrency=1)
    recorder = Recorder(consumer)
    async with consumer:
        await recorder.receive("completed", "low")

    assert handler.ids == ["first", "second", "low"]


async def test_many_are_enqueued_in_one_step_and_answered_in_order(harness: Harness) -> None:
    handler = Handler()
    queue = harness.queue(handler, concurrency=10)
    recorder = Recorder(queue)
    async with queue:
        await soon(queue.enqueue_and_wait("done", "x"))

        answers = await queue.enqueue_many([("one", 1), ("done", 2), ("one", 3), ("two", 4)], max_attempts=1)

        assert answers[0] == answers[3] == Queued()
        assert answers[1] == Completed("x")
        assert isinstance(answers[2], Duplicate)
        await recorder.receive("completed", "one", 1)
        await recorder.receive("completed", "two", 4)
        assert [values[0] for event, *values in recorder.events if event == "enqueued"] == ["done", "one", "two"]
        assert await queue.enqueue_many([]) == []


async def test_queues_of_one_store_have_nothing_in_common(harness: Harness) -> None:
    mail, post = Handler(lambda job: "mail"), Handler(lambda job: "post")
    async with harness.queue(mail, name="mail") as one, harness.queue(post, name="post") as two:
        assert await soon(one.enqueue_and_wait("a", 1)) == "mail"
        assert await two.status("a") is None
        assert await two.cancel("a") == "not_found"
        assert await soon(two.enqueue_and_wait("a", 1)) == "post"
        assert await one.result("a") == "mail"

    assert (len(mail.jobs), len(post.jobs)) == (1, 1)


async def test_a_queue_that_is_not_started_says_what_to_do(harness: Harness) -> None:
    queue = harness.queue()

    with pytest.raises(RuntimeError, match="'emails' is not started; use `async with queue`"):
        await queue.enqueue("a", 1)
    with pytest.raises(RuntimeError, match="not started"):
        await queue.result("a")


@pytest.mark.parametrize("name", ["", "a" * 191, "line\nbreak"])
def test_an_impossible_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the name of a queue"):
        Queue(name, store="memory://")


async def test_an_option_that_there_is_none_of_is_refused_with_those_there_are(harness: Harness) -> None:
    options: Any = {"retries": 3}
    async with harness.queue() as queue:
        with pytest.raises(
            TypeError,
            match="enqueue takes no 'retries'; it takes after, debounce, debounce_max, dedup_ttl, delay, max_attempts",
        ):
            await queue.enqueue("a", 1, **options)
