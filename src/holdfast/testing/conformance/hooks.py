"""Failure hooks: the permanent failure of a job starts a chain atomically."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from holdfast.core.details import FailureHook, JobDetails, write_details, write_hook
from holdfast.core.hooks import Failure
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Listen,
    ReadEvents,
)
from holdfast.testing.builders import (
    cancelled,
    completed,
    continued,
    failed,
    finally_mismatched,
    new_job,
    next_job,
    retrying,
)
from holdfast.testing.conformance.builders import hooks_of, received, sent_details
from holdfast.testing.conformance.harness import Harness

REFUND = FailureHook("refund", "failure")


async def a_failed_job_starts_its_hook_with_a_failure(harness: Harness) -> None:
    job = await harness.claimed(new_job(input=b'{"order": 7}', on_failure=REFUND))

    await harness.settled(failed(job, "no luck"))

    (hook,) = await hooks_of(harness)
    assert (hook.status, hook.chain_id, hook.index, hook.attempt) == (Status.PENDING, hook.id, 0, 0)
    assert (hook.created_at, hook.scheduled_at) == (harness.clock(), harness.clock())
    assert received(hook) == Failure(job.id, job.id, "resize", {"order": 7}, "ValueError: no luck", 1)
    assert (await harness.claim_one("refund")).id == hook.id


async def jobs_are_started_beside_one_that_fails_at_once_and_starts_its_hook(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.settled(failed(blocker))
    waiting = new_job(after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND)
    others = [new_job("third"), new_job("third")]

    started = await harness.start(waiting, *others)

    assert [each.chain.last.status for each in started] == [Status.FAILED, Status.PENDING, Status.PENDING]
    assert len(await hooks_of(harness)) == 1
    assert [(await harness.claim_one("third")).id for _ in others] == [other.id for other in others]


async def the_hook_has_the_options_that_were_stored_with_the_job(harness: Harness) -> None:
    page = FailureHook("page", "failure", keep=10**15 + 3)
    refund = FailureHook("refund", 'odd "name"', priority=-7, max_attempts=3, keep=10**15 + 1, then=write_hook(page))
    sent = JobDetails(None, "00-trace", {"tenant": "\u00e9\u4e2d/", "1": "a"}, refund)
    details = write_details(sent)
    await harness.claimed(replace(new_job(max_attempts=1), details=details))
    blocker = await harness.claimed(new_job("other"))
    await harness.start(replace(new_job(after=(blocker.id,), on_blocker_failure="fail"), details=details))
    settled = await harness.claimed(replace(new_job("third"), details=details))

    await harness.settled(failed(settled))
    await harness.settled(failed(blocker))
    await harness.expire()
    await harness.reap()

    hooks = await hooks_of(harness)
    assert len(hooks) == 3
    for hook in hooks:
        assert (hook.priority, hook.max_attempts, hook.keep) == (-7, 3, 10**15 + 1)
        assert sent_details(hook) == replace(sent, origin=hook.origin, on_failure=page)
        assert list(msgspec.json.decode(hook.input)) == ['odd "name"']
    await harness.settled(failed(await harness.claim_one("refund")))
    assert [hook.keep for hook in await hooks_of(harness, "page")] == [10**15 + 3]


async def the_input_of_the_failed_job_is_copied_exactly(harness: Harness) -> None:
    given = b'{"id": 9007199254740993, "ratio": 1.0, "text": "a/\\u00e9\xe4\xb8\xad", "none": null, "list": []}'
    await harness.claimed(new_job(input=given, max_attempts=1, on_failure=REFUND), max_attempts=1)
    blocker = await harness.claimed(new_job("other"))
    await harness.start(new_job(input=given, after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND))
    settled = await harness.claimed(new_job("third", input=given, on_failure=REFUND))

    await harness.settle(failed(settled), failed(blocker))
    await harness.expire()
    await harness.reap()

    hooks = await hooks_of(harness)
    assert len(hooks) == 3
    for hook in hooks:
        assert given in hook.input
        assert received(hook).input == msgspec.json.decode(given)


async def a_lost_lease_on_the_last_attempt_starts_the_hook(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=2, on_failure=REFUND))
    await harness.expire()
    await harness.reap()
    assert await hooks_of(harness) == []
    await harness.claim_one()

    await harness.expire()
    await harness.reap()

    (hook,) = await hooks_of(harness)
    failure = received(hook)
    assert (failure.job_id, failure.attempts) == (job.id, 2)
    assert failure.error == str(await harness.error(job.id))
    assert await harness.reap() == []
    assert len(await hooks_of(harness)) == 1


async def a_job_that_no_worker_can_read_starts_the_hook(harness: Harness) -> None:
    job = await harness.claimed(new_job(on_failure=REFUND))

    await harness.settled(finally_mismatched(job))

    (hook,) = await hooks_of(harness)
    assert (received(hook).attempts, received(hook).error[:14]) == (0, "PayloadRefused")


async def every_dependent_that_fails_with_its_blocker_starts_its_own_hook(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other", on_failure=FailureHook("first", "failure")))
    waiting = [blocker.id]
    for _ in range(4):
        job = new_job("deep", after=(waiting[-1],), on_blocker_failure="fail", on_failure=REFUND)
        waiting.append((await harness.started(job)).id)
    beside = [new_job("wide", after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND) for _ in range(5)]
    await harness.start(*beside)
    await harness.start(new_job("bare", after=(blocker.id,), on_blocker_failure="fail"))

    await harness.settled(failed(blocker))

    hooks = await hooks_of(harness)
    assert sorted(received(hook).job_id for hook in hooks) == sorted([*waiting[1:], *(job.id for job in beside)])
    assert {received(hook).attempts for hook in hooks} == {0}
    errors = {received(hook).job_id: received(hook).error for hook in hooks}
    assert errors[waiting[2]] == str(await harness.error(waiting[2]))
    assert len(await hooks_of(harness, "first")) == 1


async def hundreds_of_dependents_start_one_hook_each(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    jobs = [new_job(after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND) for _ in range(250)]
    await harness.start(*jobs)

    await harness.settled(failed(blocker))

    hooks = await hooks_of(harness)
    assert sorted(received(hook).job_id for hook in hooks) == sorted(job.id for job in jobs)


async def a_job_started_after_a_failed_blocker_starts_its_hook_at_once(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.settled(failed(blocker))

    job = await harness.started(new_job(after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND))

    assert job.status is Status.FAILED
    (hook,) = await hooks_of(harness)
    assert received(hook).job_id == job.id


async def a_continuation_starts_the_hook_of_its_own_type(harness: Harness) -> None:
    first = await harness.claimed(new_job(on_failure=FailureHook("other-hook", "failure")))
    following = next_job(first, input=b"[1]", on_failure=REFUND)
    await harness.settled(continued(first, following))

    await harness.settled(failed(await harness.claim_one("publish")))

    (hook,) = await hooks_of(harness)
    assert received(hook) == Failure(following.id, first.id, "publish", [1], "ValueError: no luck", 1)
    assert await hooks_of(harness, "other-hook") == []


async def a_continuation_with_a_failed_blocker_starts_its_hook(harness: Harness) -> None:
    for outside in (False, True):
        blocker = await harness.claimed(new_job("other"))
        await harness.settled(failed(blocker))
        first = await harness.claimed()
        following = next_job(first, after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND)

        if outside:
            await harness.perform(Complete(first.id, first.id, (Completion(continuation=following),)))
        else:
            await harness.settled(continued(first, following))

        assert (await harness.chain(first.id)).last.status is Status.FAILED
        assert [received(hook).job_id for hook in await hooks_of(harness)][:1] == [following.id]
    assert len(await hooks_of(harness)) == 2


async def no_other_end_starts_the_hook(harness: Harness) -> None:
    done = await harness.claimed(new_job(on_failure=REFUND))
    await harness.settled(completed(done))
    stopped = await harness.claimed(new_job(on_failure=REFUND))
    await harness.settled(cancelled(stopped))
    waiting = await harness.started(new_job(delay=60, on_failure=REFUND))
    await harness.perform(CancelChains((waiting.id,)))
    running = await harness.claimed(new_job(on_failure=REFUND))
    await harness.perform(CancelChains((running.id,)))
    again = await harness.claimed(new_job(on_failure=REFUND))
    await harness.settled(retrying(again, delay=60))
    blocker = await harness.claimed(new_job("other"))
    await harness.start(new_job(after=(blocker.id,), on_failure=REFUND))
    await harness.settled(failed(blocker))

    assert await hooks_of(harness) == []


async def a_listener_reads_the_failure_and_then_the_hook(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND))
    await harness.perform(Listen("listener", 60_000_000))
    await harness.settled(failed(blocker))

    events = [(event.kind, event.type) for event in await harness.perform(ReadEvents(0, 100))]

    assert events == [("failed", "other"), ("failed", job.type), ("created", "refund")]
