"""What a chain that did not complete means for the jobs that wait for it and asked to fail with it."""

from __future__ import annotations

from holdfast.lifecycle import NewJob
from holdfast.operations import Cancel, Complete, RetryJobs, Step
from holdfast.record import Status
from holdfast.testing.builders import cancelled, completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.ground import Ground


async def a_failed_blocker_fails_the_dependents_that_asked_for_it(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    fails = await ground.started(_dependent(blocker.id))
    waits = await ground.started(new_job(after=(blocker.id,)))

    await ground.settled(failed(blocker))

    ended = await ground.job(fails.id)
    assert (ended.status, ended.finished_at, ended.attempt) == (Status.FAILED, ground.clock(), 0)
    assert (await ground.error(ended.id)).type == "BlockerFailed"
    assert blocker.id in (await ground.error(ended.id)).message
    assert await ground.job(waits.id) == waits


async def a_blocker_that_ends_in_any_bad_way_counts(ground: Ground) -> None:
    for settle in (failed, cancelled):
        blocker = await ground.claimed(new_job("other"))
        job = await ground.started(_dependent(blocker.id))
        await ground.settled(settle(blocker))
        assert (await ground.job(job.id)).status is Status.FAILED

    blocker = await ground.started(new_job("other", delay=60))
    job = await ground.started(_dependent(blocker.id))
    await ground.perform(Cancel((blocker.id,)))
    assert (await ground.job(job.id)).status is Status.FAILED

    blocker = await ground.claimed(new_job("other", max_attempts=1))
    job = await ground.started(_dependent(blocker.id))
    await ground.expire()
    await ground.reap("other")
    assert (await ground.job(job.id)).status is Status.FAILED


async def one_bad_blocker_of_several_is_enough(ground: Ground) -> None:
    one, two = [await ground.claimed(new_job("other")) for _ in range(2)]
    job = await ground.started(_dependent(one.id, two.id))
    await ground.settled(completed(one))

    await ground.settled(failed(two))

    assert (await ground.job(job.id)).status is Status.FAILED


async def failure_passes_on_to_the_dependents_of_dependents(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    first = await ground.started(_dependent(blocker.id))
    second = await ground.started(_dependent(first.id))
    waits = await ground.started(new_job(after=(second.id,)))
    beyond = await ground.started(_dependent(waits.id))

    await ground.perform(Cancel((blocker.id,)))

    statuses = [(await ground.job(job.id)).status for job in (first, second, waits, beyond)]
    assert statuses == [Status.FAILED, Status.FAILED, Status.BLOCKED, Status.BLOCKED]
    assert first.id in (await ground.error(second.id)).message


async def failure_passes_down_a_line_of_any_length(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    jobs = [_dependent(blocker.id)]
    while len(jobs) < 1200:
        jobs.append(_dependent(jobs[-1].id))
    await ground.start(*jobs)

    await ground.settled(failed(blocker))

    assert (await ground.job(jobs[-1].id)).status is Status.FAILED
    assert sum(job.status is Status.FAILED for job in await ground.everything()) == 1201


async def failure_that_arrives_by_two_ways_fails_once(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    left, right = await ground.started(_dependent(blocker.id)), await ground.started(_dependent(blocker.id))
    bottom = await ground.started(_dependent(left.id, right.id, left.id))

    await ground.settled(failed(blocker))

    assert (await ground.job(bottom.id)).status is Status.FAILED


async def a_later_step_that_waits_fails_its_chain_and_the_chains_dependents(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.claimed()
    await ground.settled(continued(job, next_job(job, after=(blocker.id,), on_blocker_failure="fail")))
    beyond = await ground.started(_dependent(job.chain_id))

    await ground.settled(failed(blocker))

    assert (await ground.chain(job.chain_id)).last.status is Status.FAILED
    assert (await ground.job(beyond.id)).status is Status.FAILED


async def a_job_whose_blocker_has_already_failed_fails_as_it_is_made(ground: Ground) -> None:
    for settle in (failed, cancelled):
        blocker = await ground.claimed(new_job("other"))
        await ground.settled(settle(blocker))

        fails, waits = _dependent(blocker.id), new_job(after=(blocker.id,))
        answers = await ground.start(fails, waits)

        assert [chain.last.status for chain, _ in answers] == [Status.FAILED, Status.BLOCKED]
        assert (await ground.error(fails.id)).type == "BlockerFailed"


async def a_continuation_whose_blocker_has_already_failed_fails_with_its_chain(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    await ground.settled(failed(blocker))
    job = await ground.claimed()
    beyond = await ground.started(_dependent(job.chain_id))

    await ground.settled(continued(job, next_job(job, after=(blocker.id,), on_blocker_failure="fail")))

    assert (await ground.chain(job.chain_id)).last.status is Status.FAILED
    assert (await ground.job(beyond.id)).status is Status.FAILED


async def in_one_batch_failure_passes_from_job_to_job(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    await ground.settled(failed(blocker))
    first = _dependent(blocker.id)

    answers = await ground.start(first, _dependent(first.id))

    assert [chain.last.status for chain, _ in answers] == [Status.FAILED, Status.FAILED]


async def a_retried_dependent_waits_for_its_blocker_to_be_retried(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.started(_dependent(blocker.id))
    await ground.settled(failed(blocker))

    (again,) = await ground.perform(RetryJobs((job.id,)))
    assert (again.status, again.open_blockers) == (Status.BLOCKED, 1)

    await ground.start(_dependent(blocker.id))
    assert (await ground.job(job.id)).status is Status.BLOCKED

    await ground.perform(RetryJobs((blocker.id,)))
    await ground.settled(completed(await ground.claim_one("other")))
    assert (await ground.job(job.id)).status is Status.PENDING


async def a_retried_dependent_fails_when_its_blocker_fails_again(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.started(_dependent(blocker.id))
    await ground.settled(failed(blocker))
    await ground.perform(RetryJobs((job.id, blocker.id)))

    await ground.settled(failed(await ground.claim_one("other")))

    assert (await ground.job(job.id)).status is Status.FAILED


async def jobs_that_are_no_longer_blocked_do_not_fail(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.started(_dependent(blocker.id))
    await ground.perform(Complete(job.id, job.id, (Step(output=b"1"),)))

    await ground.settled(failed(blocker))

    assert (await ground.job(job.id)).status is Status.COMPLETED


def _dependent(*after: str) -> NewJob:
    return new_job(after=after, on_blocker_failure="fail")
