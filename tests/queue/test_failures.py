"""The errors of failed jobs carry the payload and the attempts, and nothing shows a payload as text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import AttemptsExhausted, Fail, JobFailed, MsgpackCodec, QueueJob, StoreUnavailable
from holdfast.engine.observers import event_about
from holdfast.engine.operations import Filter, ListJobs
from holdfast.queue import Completed, Execution
from tests.queue.harness import LEASE, Handler, Harness, Recorder, fail, soon
from tests.worker.faulty_store import FaultyStore

SECRET = {"card": "4111 1111"}


async def test_the_failed_event_has_the_payload_and_the_attempts(harness: Harness) -> None:
    queue = harness.queue(Handler(fail), max_retries=1)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", SECRET)
        _, _, error = await recorder.receive("failed", "a")

    assert type(error) is AttemptsExhausted
    assert (error.payload, error.attempts) == (SECRET, 2)
    assert "4111" not in str(error) + repr(error)


async def test_a_job_that_fails_early_has_them_too(harness: Harness) -> None:
    def act(job: QueueJob[Any]) -> None:
        raise Fail("no such card")

    queue = harness.queue(Handler(act), max_retries=5)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", SECRET)
        _, _, error = await recorder.receive("failed", "a")

    assert type(error) is JobFailed
    assert (error.payload, error.attempts) == (SECRET, 1)


async def test_a_job_whose_last_lease_is_lost_has_them_too(harness: Harness) -> None:
    async with harness.queue(max_retries=0) as producer:
        await producer.enqueue("a", SECRET)
        await harness.claim()
        harness.clock.advance(LEASE)
        consumer = harness.queue(Handler())
        recorder = Recorder(consumer)
        async with consumer:
            _, _, error = await recorder.receive("failed", "a")

    assert type(error) is AttemptsExhausted
    assert (error.payload, error.attempts) == (SECRET, 1)


async def test_a_waiting_caller_gets_them_too(harness: Harness) -> None:
    async with harness.queue(Handler(fail), max_retries=1) as queue:
        with pytest.raises(AttemptsExhausted) as raised:
            await soon(queue.enqueue_and_wait("a", SECRET))

    assert (raised.value.payload, raised.value.attempts) == (SECRET, 2)


async def test_a_payload_that_cannot_be_decoded_is_none(harness: Harness) -> None:
    consumer = harness.queue(Handler(), payload_codec=MsgpackCodec(), mismatch_timeout=0)
    recorder = Recorder(consumer)
    async with harness.queue() as producer, consumer:
        await producer.enqueue("a", SECRET)
        _, _, error = await recorder.receive("failed", "a")
        status = await consumer.status("a")

    assert (type(error), error.payload) == (JobFailed, None)
    assert status is not None
    assert status.payload is None


async def test_a_status_has_the_payload(harness: Harness) -> None:
    async with harness.queue(Handler()) as queue:
        await soon(queue.enqueue_and_wait("a", SECRET))
        status = await queue.status("a")

    assert status is not None
    assert (status.payload, status.result) == (SECRET, SECRET)
    assert "4111" not in repr(status)


async def test_neither_payload_nor_result_is_part_of_a_repr(harness: Harness) -> None:
    seen: list[Execution[Any, Any]] = []
    handler = Handler()
    async with harness.queue(handler, after_execution=seen.append) as queue:
        await soon(queue.enqueue_and_wait("a", SECRET))
        (record,) = await harness.store.perform(ListJobs(Filter(), 1))

    shown = [*handler.jobs, *seen, Completed(SECRET), event_about("failed", record)]
    assert (seen[0].payload, seen[0].result) == (SECRET, SECRET)
    assert "4111" not in " ".join(map(repr, shown))


async def test_an_outage_is_delivered_as_the_error_that_the_store_raised(harness: Harness) -> None:
    faulty = FaultyStore(harness.store)
    faulty.fail("claim", times=2)
    queue = harness.queue(Handler(), store=faulty)
    errors: asyncio.Queue[BaseException] = asyncio.Queue()
    queue.on("error", errors.put_nowait)
    async with queue:
        first = await soon(errors.get())
        assert await soon(queue.enqueue_and_wait("a", 1)) == 1

    assert isinstance(first, StoreUnavailable)


def _no_parameter() -> None: ...


def _two_parameters(job: QueueJob[Any], more: int) -> None: ...


def _keyword_parameter(*, job: QueueJob[Any]) -> None: ...


def _optional_parameter(job: QueueJob[Any], more: int = 0) -> str:
    return "ok"


def _any_number(*jobs: QueueJob[Any]) -> str:
    return "ok"


@pytest.mark.parametrize(
    "handler",
    [_no_parameter, _two_parameters, _keyword_parameter, Handler().begun],
    ids=["none", "two", "keyword", "method"],
)
async def test_a_handler_that_does_not_take_exactly_the_job_is_refused(harness: Harness, handler: Any) -> None:
    with pytest.raises(TypeError, match="a handler takes exactly one argument, the job"):
        harness.queue(handler)


@pytest.mark.parametrize("handler", [_optional_parameter, _any_number, Handler(lambda job: "ok")])
async def test_a_handler_may_have_more_parameters_with_defaults(harness: Harness, handler: Any) -> None:
    async with harness.queue(handler) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == "ok"
