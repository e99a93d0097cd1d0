"""Handlers, and the hook after them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from holdfast import AttemptsExhausted, JobFailed, QueueJob, Retry
from holdfast.queue import Execution
from tests.queue.harness import Handler, Harness, Recorder, fail, fail_until, soon


async def test_a_plain_handler_runs_in_a_thread(harness: Harness) -> None:
    def plain(job: QueueJob[Any]) -> bool:
        return threading.current_thread() is not threading.main_thread()

    async with harness.queue(plain) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) is True


async def test_an_object_whose_call_is_async_is_an_async_handler(harness: Harness) -> None:
    class Sender:
        async def __call__(self, job: QueueJob[Any]) -> bool:
            return threading.current_thread() is threading.main_thread()

    async with harness.queue(Sender()) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) is True


async def test_a_plain_function_that_returns_a_coroutine_fails_with_advice(harness: Harness) -> None:
    async def send(payload: Any) -> None: ...

    async with harness.queue(lambda job: send(job.payload), max_retries=0) as queue:
        with pytest.raises(JobFailed, match="make it `async def`"):
            await soon(queue.enqueue_and_wait("a", 1))


async def test_what_is_no_handler_is_refused(harness: Harness) -> None:
    with pytest.raises(TypeError, match="a handler is a function"):
        harness.queue("send")  # type: ignore[arg-type]


async def test_a_result_that_cannot_be_stored_fails_the_job_with_a_clear_error(harness: Harness) -> None:
    async with harness.queue(Handler(lambda job: {1, 2}), max_retries=0) as queue:
        with pytest.raises(AttemptsExhausted, match="set is no plain JSON value"):
            await soon(queue.enqueue_and_wait("a", 1))


async def test_execute_is_a_decorator_and_a_later_handler_takes_over(harness: Harness) -> None:
    queue = harness.queue()
    async with queue:

        @queue.execute
        async def first(job: QueueJob[Any]) -> str:
            return "first"

        assert await soon(queue.enqueue_and_wait("a", 1)) == "first"
        queue.execute(lambda job: "second")
        assert await soon(queue.enqueue_and_wait("b", 1)) == "second"


async def test_the_signal_fires_when_an_attempt_takes_too_long(harness: Harness) -> None:
    reasons: list[str | None] = []

    async def slow(job: QueueJob[Any]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            reasons.append(job.signal.reason)

    async with harness.queue(slow, timeout=0.01, max_retries=1) as queue:
        with pytest.raises(AttemptsExhausted, match="the attempt took longer than"):
            await soon(queue.enqueue_and_wait("a", 1))

    assert reasons == ["timeout", "timeout"]


async def test_the_signal_of_a_plain_handler_fires_at_its_timeout(harness: Harness) -> None:
    reasons: list[str | None] = []

    def slow(job: QueueJob[Any]) -> None:
        reasons.append(job.signal.wait_sync(20))

    async with harness.queue(slow, timeout=0.01, max_retries=0) as queue:
        with pytest.raises(AttemptsExhausted, match="took longer"):
            await soon(queue.enqueue_and_wait("a", 1))

    assert reasons == ["timeout"]


async def test_the_signal_fires_when_the_job_is_lost_to_another(harness: Harness) -> None:
    reason: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    begun = asyncio.Event()

    async def freeze(job: QueueJob[Any]) -> str:
        if job.attempts > 1:
            return "taken over"
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            reason.set_result(job.signal.reason)
        return "frozen"

    async with harness.queue(freeze, visibility_timeout=3600) as slow:
        await slow.enqueue("a", 1)
        await soon(begun.wait())
        harness.clock.advance(3601)
        async with harness.queue(freeze) as other:
            assert await soon(other.enqueue_and_wait("a", 2)) == "taken over"
            assert await soon(reason) in ("taken_by_another_worker", "already_completed")


async def test_the_hook_sees_a_success_before_it_is_stored_and_may_change_it(harness: Harness) -> None:
    seen: list[Execution[Any, Any]] = []

    async def after(execution: Execution[Any, Any]) -> None:
        seen.append(execution)
        assert await queue.result("a") is None
        execution.result = {"wrapped": execution.result}
        execution.result_ttl = 5

    queue = harness.queue(Handler(lambda job: job.payload + 1), after_execution=after, worker_id="w", result_ttl=60)
    recorder = Recorder(queue)
    async with queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == {"wrapped": 2}
        await recorder.receive("completed", "a", {"wrapped": 2})
        harness.clock.advance(5)
        assert await queue.result("a") is None

    (execution,) = seen
    assert (execution.id, execution.payload, execution.status, execution.error) == ("a", 1, "completed", None)
    assert (execution.attempts, execution.max_attempts, execution.worker) == (1, 4, "w")


async def test_the_hook_may_be_plain(harness: Harness) -> None:
    def after(execution: Execution[Any, Any]) -> None:
        execution.result = "changed"

    async with harness.queue(Handler(), after_execution=after) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == "changed"


async def test_the_hook_sees_only_the_last_failure_and_may_change_it(harness: Harness) -> None:
    seen: list[Execution[Any, Any]] = []

    def after(execution: Execution[Any, Any]) -> None:
        seen.append(execution)
        execution.error = PermissionError("hidden")
        execution.result_ttl = 5

    async with harness.queue(Handler(fail), max_retries=2, after_execution=after) as queue:
        with pytest.raises(AttemptsExhausted) as failure:
            await soon(queue.enqueue_and_wait("a", 1))
        assert str(failure.value.error) == "PermissionError: hidden"
        harness.clock.advance(5)
        assert await queue.status("a") is None

    (execution,) = seen
    assert (execution.status, execution.attempts, execution.result) == ("failed", 3, None)


async def test_the_hook_sees_a_timeout_that_was_the_last(harness: Harness) -> None:
    def after(execution: Execution[Any, Any]) -> None:
        execution.error = RuntimeError(f"replaced {type(execution.error).__name__}")

    async with harness.queue(Handler(hold=True), timeout=0.01, max_retries=0, after_execution=after) as queue:
        with pytest.raises(AttemptsExhausted, match="RuntimeError: replaced AttemptTimeout"):
            await soon(queue.enqueue_and_wait("a", 1))


def _raise(execution: Execution[Any, Any]) -> None:
    raise RuntimeError("the hook is broken")


def _cancel(execution: Execution[Any, Any]) -> None:
    raise asyncio.CancelledError("something that the hook awaited was cancelled")


def _exit(execution: Execution[Any, Any]) -> None:
    raise SystemExit(1)


def _interrupt(execution: Execution[Any, Any]) -> None:
    raise KeyboardInterrupt


def _close(execution: Execution[Any, Any]) -> None:
    raise GeneratorExit


async def _await_closed(execution: Execution[Any, Any]) -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, GeneratorExit())
    await future


def _bad_ttl(execution: Execution[Any, Any]) -> None:
    execution.result_ttl = -1


def _no_ttl(execution: Execution[Any, Any]) -> None:
    execution.result_ttl = None


def _text_as_error(execution: Execution[Any, Any]) -> None:
    execution.error = "not an exception"  # type: ignore[assignment]


def _unstorable(execution: Execution[Any, Any]) -> None:
    execution.result = {"a", "set"}


@pytest.mark.parametrize(("flaw", "status"), [
    (_raise, "completed"), (_raise, "failed"), (_cancel, "completed"), (_exit, "failed"),
    (_interrupt, "completed"), (_interrupt, "failed"), (_close, "completed"), (_await_closed, "completed"),
    (_bad_ttl, "completed"), (_bad_ttl, "failed"), (_no_ttl, "completed"),
    (_text_as_error, "failed"), (_unstorable, "completed"),
])  # fmt: skip
async def test_a_broken_hook_is_reported_and_changes_nothing_at_all(harness: Harness, flaw: Any, status: str) -> None:
    def after(execution: Execution[Any, Any]) -> Any:
        execution.result, execution.error, execution.result_ttl = "spoilt", KeyError("spoilt"), 1
        return flaw(execution)

    handler = Handler(fail if status == "failed" else None)
    queue = harness.queue(handler, max_retries=0, result_ttl=60, after_execution=after)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", "untouched")
        await recorder.receive(status, "a")
        _, error = await recorder.receive("error")
        assert isinstance(error, BaseException)
        harness.clock.advance(59)
        kept = await queue.status("a")

    assert kept is not None
    assert (kept.state, kept.attempts) == (status, 1)
    assert kept.result == ("untouched" if status == "completed" else None)
    assert kept.error == (None if status == "completed" else "ValueError: no luck with attempt 1")


async def test_what_the_hook_sets_on_id_and_status_is_ignored(harness: Harness) -> None:
    def after(execution: Execution[Any, Any]) -> None:
        execution.id, execution.status, execution.error = "b", "failed", ValueError()

    async with harness.queue(Handler(), after_execution=after) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == 1
        assert await queue.status("b") is None


async def test_max_retries_counts_retries_and_none_is_no_limit(harness: Harness) -> None:
    once, often = Handler(fail), Handler(fail_until(30))
    async with harness.queue(once, max_retries=0) as queue:
        with pytest.raises(AttemptsExhausted):
            await soon(queue.enqueue_and_wait("a", 1))
    async with harness.queue(often, name="often", max_retries=None) as queue:
        assert await soon(queue.enqueue_and_wait("a", 1)) == 1

    assert (len(once.jobs), len(often.jobs)) == (1, 30)
    assert often.jobs[0].max_attempts is None


async def test_retries_wait_as_the_backoff_says(harness: Harness) -> None:
    handler = Handler(fail)
    retry = Retry(initial=10, multiplier=3, maximum=20, jitter=0)
    queue = harness.queue(handler, max_retries=2, retry=retry)
    recorder = Recorder(queue)
    async with queue:
        await queue.enqueue("a", 1)
        await recorder.receive("failing", "a")
        harness.clock.advance(9.999)
        assert len(handler.jobs) == 1
        harness.clock.advance(0.001)
        await recorder.receive("failing", "a", times=2)
        harness.clock.advance(20)
        await recorder.receive("failed", "a")

    assert len(handler.jobs) == 3


@pytest.mark.parametrize("retries", [-1, True])
async def test_an_impossible_number_of_retries_is_refused(harness: Harness, retries: int) -> None:
    with pytest.raises(ValueError, match="max_retries"):
        harness.queue(max_retries=retries)
