"""Wake-ups: a commit sends hints to listeners of this store object and of others.

Additional hints are allowed, so these cases only require that the expected one arrives.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from holdfast.core.clock import SECOND
from holdfast.core.ids import new_id
from holdfast.core.record import Record
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Delete,
    DrainWorker,
    Listen,
    Operation,
    ReportWorker,
    Resume,
    RetryJobs,
    RunNow,
    SkipJobs,
)
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, order


async def a_due_job_sends_a_hint(harness: Harness) -> None:
    for act in (
        lambda: harness.start(new_job()),
        lambda: harness.start(new_job(delay=60)),
        lambda: harness.perform(Resume(("resize",))),
    ):
        await _received(harness, act, _due("resize"))


async def a_continuation_sends_a_hint(harness: Harness) -> None:
    job = await harness.claimed()

    await _received(harness, lambda: harness.settle(continued(job, next_job(job, "publish"))), _due("publish"))


async def a_job_that_will_be_retried_sends_a_hint(harness: Harness) -> None:
    job = await harness.claimed()

    await _received(harness, lambda: harness.settle(retrying(job, delay=5)), _due("resize"))
    await _received(harness, lambda: harness.perform(RunNow((job.id,))), _due("resize"))


async def a_retry_by_an_operator_sends_a_hint(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(failed(job))

    await _received(harness, lambda: harness.perform(RetryJobs((job.id,))), _due("resize"))


async def an_unblocked_job_sends_a_hint(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.start(new_job("resize", after=(blocker.id,)))

    await _received(harness, lambda: harness.settle(completed(blocker)), _due("resize"))


async def a_reaped_job_sends_a_hint(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.expire()

    await _received(harness, harness.reap, lambda hints: "resize" in hints.due and job.id in hints.lost)


async def a_finished_chain_sends_a_hint(harness: Harness) -> None:
    done, lost = await harness.claimed(), await harness.claimed()
    dropped, outside, deleted = [await harness.started() for _ in range(3)]

    await _received(harness, lambda: harness.settle(completed(done)), _finished(done.id))
    await _received(harness, lambda: harness.settle(failed(lost)), _finished(lost.id))
    await _received(harness, lambda: harness.perform(CancelChains((dropped.id,))), _finished(dropped.id))
    steps = (Completion(output=b"1"),)
    await _received(harness, lambda: harness.perform(Complete(outside.id, outside.id, steps)), _finished(outside.id))
    await _received(harness, lambda: harness.perform(Delete((deleted.id,))), _finished(deleted.id))


async def dependents_that_failed_with_their_blocker_send_a_hint(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,), on_blocker_failure="fail"))

    await _received(harness, lambda: harness.settle(failed(blocker)), _finished(job.id))


async def a_lost_claim_sends_a_hint(harness: Harness) -> None:
    one, two, three = [await harness.claimed() for _ in range(3)]

    await _received(harness, lambda: harness.perform(CancelChains((one.id,))), _lost(one.id))
    steps = (Completion(output=b"1"),)
    await _received(harness, lambda: harness.perform(Complete(two.id, two.id, steps)), _lost(two.id))
    await _received(harness, lambda: harness.perform(Delete((three.id,))), _lost(three.id))


async def the_end_of_a_job_at_the_front_of_an_order_sends_a_hint_for_the_next(harness: Harness) -> None:
    async def next_is_announced(act: Callable[[Record], Operation[Any]], *, fails: bool = False) -> None:
        key = new_id()
        front = await harness.started(laned(order(key=key), type="other", delay=0 if fails else 3600))
        await harness.start(laned(order(key=key)))
        for job in await harness.claim("other", "resize", limit=9):
            await harness.settled(failed(job))
        await harness.claim("other", "resize", limit=9)  # reads the changes of lanes
        job = await harness.job(front.id)
        await _received(harness, lambda: harness.perform(act(job)), _due("resize"))

    await next_is_announced(lambda job: CancelChains((job.id,)))
    await next_is_announced(lambda job: Delete((job.id,)))
    await next_is_announced(lambda job: Complete(job.id, job.id, (Completion(output=b"1"),)))
    await next_is_announced(lambda job: Delete((job.id,)), fails=True)
    await next_is_announced(lambda job: SkipJobs((job.id,)), fails=True)


async def a_drained_worker_sends_a_hint(harness: Harness) -> None:
    await harness.perform(ReportWorker(WorkerRecord("worker-1", "server", 1, ("resize",), 10)))

    await _received(
        harness, lambda: harness.perform(DrainWorker("worker-1")), lambda hints: "worker-1" in hints.workers
    )


async def recorded_events_send_a_hint(harness: Harness) -> None:
    await harness.perform(Listen("me", 3600 * SECOND))

    await _received(harness, lambda: harness.start(new_job()), lambda hints: hints.recorded)


async def an_unsubscribed_listener_receives_nothing(harness: Harness) -> None:
    received: list[Hints] = []
    unsubscribe = harness.store.wakeups.subscribe(received.append)
    unsubscribe()
    unsubscribe()
    received.clear()  # a new listener may receive ANYTHING at once

    await _received(harness, lambda: harness.start(new_job()), _due("resize"))

    assert received == []


async def _received(harness: Harness, act: Callable[[], Awaitable[object]], wanted: Callable[[Hints], bool]) -> None:
    """Act on one store object, and require that listeners on it and on another one receive the wanted hints."""
    other = await harness.second_store()
    wake_flags = [WakeFlag(), WakeFlag()]

    def listener(wake_flag: WakeFlag) -> Callable[[Hints], None]:
        return lambda hints: wake_flag.set() if hints.anything or wanted(hints) else None

    unsubscribes = [
        store.wakeups.subscribe(listener(wake_flag))
        for store, wake_flag in zip((harness.store, other.store), wake_flags, strict=True)
    ]

    await act()

    received = [await harness.wait(wake_flag) for wake_flag in wake_flags]
    for unsubscribe in unsubscribes:
        unsubscribe()
    assert received == [True, True]


def _due(type: str) -> Callable[[Hints], bool]:
    return lambda hints: type in hints.due


def _finished(chain_id: str) -> Callable[[Hints], bool]:
    return lambda hints: chain_id in hints.finished


def _lost(job_id: str) -> Callable[[Hints], bool]:
    return lambda hints: job_id in hints.lost
