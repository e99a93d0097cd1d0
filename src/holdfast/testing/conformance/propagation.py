"""Failure of a blocker: it fails the jobs that were created with `on_blocker_failure="fail"`."""

from __future__ import annotations

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains, Complete, Completion, RetryJobs
from holdfast.testing.builders import cancelled, completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def a_failed_blocker_fails_the_dependents_with_that_option(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    fails = await harness.started(_dependent(blocker.id))
    waits = await harness.started(new_job(after=(blocker.id,)))

    await harness.settled(failed(blocker))

    ended = await harness.job(fails.id)
    assert (ended.status, ended.finished_at, ended.attempt) == (Status.FAILED, harness.clock(), 0)
    assert (await harness.error(ended.id)).type == "BlockerFailed"
    assert blocker.id in (await harness.error(ended.id)).message
    assert await harness.job(waits.id) == waits


async def every_end_of_a_blocker_other_than_completion_fails_the_dependents(harness: Harness) -> None:
    for settle in (failed, cancelled):
        blocker = await harness.claimed(new_job("other"))
        job = await harness.started(_dependent(blocker.id))
        await harness.settled(settle(blocker))
        assert (await harness.job(job.id)).status is Status.FAILED

    blocker = await harness.started(new_job("other", delay=60))
    job = await harness.started(_dependent(blocker.id))
    await harness.perform(CancelChains((blocker.id,)))
    assert (await harness.job(job.id)).status is Status.FAILED

    blocker = await harness.claimed(new_job("other", max_attempts=1))
    job = await harness.started(_dependent(blocker.id))
    await harness.expire()
    await harness.reap("other")
    assert (await harness.job(job.id)).status is Status.FAILED


async def one_failed_blocker_of_several_is_enough(harness: Harness) -> None:
    one, two = [await harness.claimed(new_job("other")) for _ in range(2)]
    job = await harness.started(_dependent(one.id, two.id))
    await harness.settled(completed(one))

    await harness.settled(failed(two))

    assert (await harness.job(job.id)).status is Status.FAILED


async def failure_reaches_the_dependents_of_dependents(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    first = await harness.started(_dependent(blocker.id))
    second = await harness.started(_dependent(first.id))
    waits = await harness.started(new_job(after=(second.id,)))
    beyond = await harness.started(_dependent(waits.id))

    await harness.perform(CancelChains((blocker.id,)))

    statuses = [(await harness.job(job.id)).status for job in (first, second, waits, beyond)]
    assert statuses == [Status.FAILED, Status.FAILED, Status.BLOCKED, Status.BLOCKED]
    assert first.id in (await harness.error(second.id)).message


async def failure_reaches_dependents_at_any_distance(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    jobs = [_dependent(blocker.id)]
    while len(jobs) < 1200:
        jobs.append(_dependent(jobs[-1].id))
    await harness.start(*jobs)

    await harness.settled(failed(blocker))

    assert (await harness.job(jobs[-1].id)).status is Status.FAILED
    assert sum(job.status is Status.FAILED for job in await harness.everything()) == 1201


async def a_dependent_of_two_failed_blockers_fails_once(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    left, right = await harness.started(_dependent(blocker.id)), await harness.started(_dependent(blocker.id))
    bottom = await harness.started(_dependent(left.id, right.id, left.id))

    await harness.settled(failed(blocker))

    assert (await harness.job(bottom.id)).status is Status.FAILED


async def a_blocked_continuation_that_fails_also_fails_the_dependents_of_its_chain(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job, after=(blocker.id,), on_blocker_failure="fail")))
    beyond = await harness.started(_dependent(job.chain_id))

    await harness.settled(failed(blocker))

    assert (await harness.chain(job.chain_id)).last.status is Status.FAILED
    assert (await harness.job(beyond.id)).status is Status.FAILED


async def a_job_whose_blocker_has_already_failed_is_created_as_failed(harness: Harness) -> None:
    for settle in (failed, cancelled):
        blocker = await harness.claimed(new_job("other"))
        await harness.settled(settle(blocker))

        fails, waits = _dependent(blocker.id), new_job(after=(blocker.id,))
        answers = await harness.start(fails, waits)

        assert [chain.last.status for chain, _ in answers] == [Status.FAILED, Status.BLOCKED]
        assert (await harness.error(fails.id)).type == "BlockerFailed"


async def a_continuation_whose_blocker_has_already_failed_fails_with_its_chain(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.settled(failed(blocker))
    job = await harness.claimed()
    beyond = await harness.started(_dependent(job.chain_id))

    await harness.settled(continued(job, next_job(job, after=(blocker.id,), on_blocker_failure="fail")))

    assert (await harness.chain(job.chain_id)).last.status is Status.FAILED
    assert (await harness.job(beyond.id)).status is Status.FAILED


async def failure_reaches_dependents_in_the_same_batch(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.settled(failed(blocker))
    first = _dependent(blocker.id)

    answers = await harness.start(first, _dependent(first.id))

    assert [chain.last.status for chain, _ in answers] == [Status.FAILED, Status.FAILED]


async def a_retried_dependent_waits_for_its_blocker_to_be_retried(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(_dependent(blocker.id))
    await harness.settled(failed(blocker))

    (again,) = await harness.perform(RetryJobs((job.id,)))
    assert (again.status, again.open_blockers) == (Status.BLOCKED, 1)

    await harness.start(_dependent(blocker.id))
    assert (await harness.job(job.id)).status is Status.BLOCKED

    await harness.perform(RetryJobs((blocker.id,)))
    await harness.settled(completed(await harness.claim_one("other")))
    assert (await harness.job(job.id)).status is Status.PENDING


async def a_failed_dependent_counts_the_completions_of_the_same_settlement(harness: Harness) -> None:
    fails, completes = [await harness.claimed(new_job("other")) for _ in range(2)]
    job = await harness.started(_dependent(fails.id, completes.id))

    await harness.settle(failed(fails), completed(completes))

    assert (await harness.job(job.id)).status is Status.FAILED
    await harness.perform(RetryJobs((fails.id, job.id)))
    assert (await harness.job(job.id)).open_blockers == 1
    await harness.settled(completed(await harness.claim_one("other")))
    assert (await harness.claim_one()).id == job.id


async def a_retried_dependent_fails_when_its_blocker_fails_again(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(_dependent(blocker.id))
    await harness.settled(failed(blocker))
    await harness.perform(RetryJobs((job.id, blocker.id)))

    await harness.settled(failed(await harness.claim_one("other")))

    assert (await harness.job(job.id)).status is Status.FAILED


async def jobs_that_are_no_longer_blocked_do_not_fail(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(_dependent(blocker.id))
    await harness.perform(Complete(job.id, job.id, (Completion(output=b"1"),)))

    await harness.settled(failed(blocker))

    assert (await harness.job(job.id)).status is Status.COMPLETED


def _dependent(*after: str) -> NewJob:
    return new_job(after=after, on_blocker_failure="fail")
