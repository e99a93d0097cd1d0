"""Wake-ups: whoever must act on a commit hears of it, on this handle and on any other.

A hint too many is no fault, so these cases only ask that the needed one comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from holdfast.clock import SECOND
from holdfast.operations import Cancel, Complete, Delete, Listen, Resume, RetryJobs, RunNow, Step
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.ground import Ground
from holdfast.wakeups import Alarm, Hints


async def workers_hear_that_a_job_is_due(ground: Ground) -> None:
    for act in (
        lambda: ground.start(new_job()),
        lambda: ground.start(new_job(delay=60)),
        lambda: ground.perform(Resume(("resize",))),
    ):
        await _heard(ground, act, _due("resize"))


async def workers_hear_of_a_continuation(ground: Ground) -> None:
    job = await ground.claimed()

    await _heard(ground, lambda: ground.settle(continued(job, next_job(job, "publish"))), _due("publish"))


async def workers_hear_of_a_job_that_will_be_tried_again(ground: Ground) -> None:
    job = await ground.claimed()

    await _heard(ground, lambda: ground.settle(retrying(job, delay=5)), _due("resize"))
    await _heard(ground, lambda: ground.perform(RunNow((job.id,))), _due("resize"))


async def workers_hear_of_a_job_that_was_retried_by_hand(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(failed(job))

    await _heard(ground, lambda: ground.perform(RetryJobs((job.id,))), _due("resize"))


async def workers_hear_of_a_job_that_was_unblocked(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    await ground.start(new_job("resize", after=(blocker.id,)))

    await _heard(ground, lambda: ground.settle(completed(blocker)), _due("resize"))


async def workers_hear_of_a_job_that_was_reaped(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.expire()

    await _heard(ground, ground.reap, lambda hints: "resize" in hints.due and job.id in hints.lost)


async def waiters_hear_that_a_chain_is_finished(ground: Ground) -> None:
    done, lost = await ground.claimed(), await ground.claimed()
    dropped, outside, gone = [await ground.started() for _ in range(3)]

    await _heard(ground, lambda: ground.settle(completed(done)), _finished(done.id))
    await _heard(ground, lambda: ground.settle(failed(lost)), _finished(lost.id))
    await _heard(ground, lambda: ground.perform(Cancel((dropped.id,))), _finished(dropped.id))
    steps = (Step(output=b"1"),)
    await _heard(ground, lambda: ground.perform(Complete(outside.id, outside.id, steps)), _finished(outside.id))
    await _heard(ground, lambda: ground.perform(Delete((gone.id,))), _finished(gone.id))


async def waiters_hear_of_dependents_that_failed_with_their_blocker(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.started(new_job(after=(blocker.id,), on_blocker_failure="fail"))

    await _heard(ground, lambda: ground.settle(failed(blocker)), _finished(job.id))


async def a_running_worker_hears_that_its_claim_is_lost(ground: Ground) -> None:
    one, two, three = [await ground.claimed() for _ in range(3)]

    await _heard(ground, lambda: ground.perform(Cancel((one.id,))), _lost(one.id))
    steps = (Step(output=b"1"),)
    await _heard(ground, lambda: ground.perform(Complete(two.id, two.id, steps)), _lost(two.id))
    await _heard(ground, lambda: ground.perform(Delete((three.id,))), _lost(three.id))


async def listeners_hear_that_events_were_recorded(ground: Ground) -> None:
    await ground.perform(Listen("me", 3600 * SECOND))

    await _heard(ground, lambda: ground.start(new_job()), lambda hints: hints.recorded)


async def who_has_unsubscribed_hears_nothing_and_disturbs_nobody(ground: Ground) -> None:
    gone: list[Hints] = []
    unsubscribe = ground.store.wakeups.subscribe(gone.append)
    unsubscribe()
    unsubscribe()
    gone.clear()  # whoever subscribes may be told at once to look for itself

    await _heard(ground, lambda: ground.start(new_job()), _due("resize"))

    assert gone == []


async def _heard(ground: Ground, act: Callable[[], Awaitable[object]], wanted: Callable[[Hints], bool]) -> None:
    """Act on one handle, and require that listeners on it and on another hear what they need."""
    other = await ground.second_store()
    alarms = [Alarm(), Alarm()]

    def listener(alarm: Alarm) -> Callable[[Hints], None]:
        return lambda hints: alarm.ring() if hints.anything or wanted(hints) else None

    unsubscribes = [
        store.wakeups.subscribe(listener(alarm))
        for store, alarm in zip((ground.store, other.store), alarms, strict=True)
    ]

    await act()

    heard = [await ground.wait(alarm) for alarm in alarms]
    for unsubscribe in unsubscribes:
        unsubscribe()
    assert heard == [True, True]


def _due(type: str) -> Callable[[Hints], bool]:
    return lambda hints: type in hints.due


def _finished(chain_id: str) -> Callable[[Hints], bool]:
    return lambda hints: chain_id in hints.finished


def _lost(job_id: str) -> Callable[[Hints], bool]:
    return lambda hints: job_id in hints.lost
