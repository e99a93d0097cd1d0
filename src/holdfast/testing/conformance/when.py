"""Jobs that wait for a failure (`when="failed"`) or for the end (`when="ended"`) of other chains."""

from __future__ import annotations

from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED
from holdfast.core.clock import SECOND
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Delete,
    GetBlockers,
    Listen,
    Prune,
    ReadEvents,
)
from holdfast.errors import DependencyCycle, StillReferenced
from holdfast.testing.builders import cancelled, completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.builders import new_waiting_job, two_blockers
from holdfast.testing.conformance.harness import Harness


async def a_failure_of_the_blocker_starts_a_job_that_waits_for_it(harness: Harness) -> None:
    for rule in (WHEN_FAILED, WHEN_ENDED):
        for settle in (failed, cancelled):
            blocker = await harness.claimed(new_job("other"))
            job = await harness.started(new_waiting_job(rule, blocker.id))
            assert (job.status, job.open_blockers, job.on_blocker_failure) == (Status.BLOCKED, 1, rule)
            harness.clock.advance(1)

            answer = await harness.settled(settle(blocker))

            assert answer.unblocked == ((job.id, "resize"),)
            free = await harness.job(job.id)
            assert (free.status, free.open_blockers, free.scheduled_at) == (Status.PENDING, 0, harness.clock())
            assert (await harness.claim_one()).id == job.id


async def every_other_end_of_the_blocker_starts_it_too(harness: Harness) -> None:
    for rule in (WHEN_FAILED, WHEN_ENDED):
        pending = await harness.started(new_job("other", delay=60))
        lost = await harness.claimed(new_job("other", max_attempts=1))
        first = await harness.started(new_waiting_job(rule, pending.id))
        second = await harness.started(new_waiting_job(rule, lost.id))
        third = await harness.started(new_job(after=(lost.id,), on_blocker_failure="fail"))
        fourth = await harness.started(new_waiting_job(rule, third.id))

        await harness.perform(CancelChains((pending.id,)))
        await harness.expire()
        await harness.reap("other")

        for job in (first, second, fourth):
            assert (await harness.job(job.id)).status is Status.PENDING


async def a_job_that_waits_for_a_failure_is_cancelled_when_all_blockers_complete(harness: Harness) -> None:
    one, two = await two_blockers(harness)
    job = await harness.started(new_waiting_job(WHEN_FAILED, one.id, two.id))
    await harness.settled(completed(one))
    assert (await harness.job(job.id)).status is Status.BLOCKED

    answer = await harness.settled(completed(two))

    ended = await harness.job(job.id)
    assert answer.unblocked == ()
    assert (ended.status, ended.open_blockers, ended.finished_at) == (Status.CANCELLED, 0, harness.clock())
    assert (await harness.error(job.id)).type == "BlockersCompleted"
    assert await harness.claim() == []


async def a_job_that_waits_for_two_ends_sees_both_although_one_follows_from_the_other(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    cancelled_with_it = await harness.started(new_waiting_job(WHEN_FAILED, blocker.id))
    job = await harness.started(new_waiting_job(WHEN_ENDED, blocker.id, cancelled_with_it.id))

    answer = await harness.settled(completed(blocker))

    assert answer.unblocked == ((job.id, "resize"),)
    assert (await harness.job(cancelled_with_it.id)).status is Status.CANCELLED
    assert (await harness.claim_one()).id == job.id


async def the_first_failure_of_several_blockers_starts_the_job(harness: Harness) -> None:
    one, two = await two_blockers(harness)
    job = await harness.started(new_waiting_job(WHEN_FAILED, one.id, two.id))

    await harness.settled(failed(two))
    started = await harness.claim_one()
    await harness.settled(completed(one))

    assert started.id == job.id
    running = await harness.job(job.id)
    assert (running.status, running.open_blockers) == (Status.RUNNING, 0)


async def a_job_that_waits_for_the_end_starts_after_the_last_one(harness: Harness) -> None:
    one, two = await two_blockers(harness)
    third = await harness.claimed(new_job("third"))
    job = await harness.started(new_waiting_job(WHEN_ENDED, one.id, two.id, third.id))

    assert (await harness.settled(failed(two))).unblocked == ()
    assert (await harness.job(job.id)).open_blockers == 2
    assert (await harness.settled(completed(third))).unblocked == ()
    assert (await harness.settled(completed(one))).unblocked == ((job.id, "resize"),)

    [blockers] = await harness.perform(GetBlockers((job.id,)))
    assert [chain.last.status for chain in blockers] == [Status.COMPLETED, Status.FAILED, Status.COMPLETED]


async def blockers_that_have_ended_are_considered_at_the_start(harness: Harness) -> None:
    done = await harness.completed(new_job("other"))
    broken = await harness.claimed(new_job("other"))
    await harness.settled(failed(broken))
    open_one = await harness.started(new_job("third"))

    jobs = {
        (rule, after): await harness.started(new_waiting_job(rule, *after))
        for rule in (WHEN_FAILED, WHEN_ENDED)
        for after in ((done.id,), (broken.id,), (done.id, broken.id), (done.id, open_one.id), (broken.id, open_one.id))
    }

    assert [job.status.value for job in jobs.values()] == [
        "cancelled", "pending", "pending", "blocked", "pending",
        "pending", "pending", "pending", "blocked", "blocked",
    ]  # fmt: skip
    assert [job.open_blockers for job in jobs.values()] == [0, 0, 0, 1, 0, 0, 0, 0, 1, 1]
    assert all([await harness.job(job.id) == job for job in jobs.values()])


async def jobs_of_one_start_may_wait_for_each_other(harness: Harness) -> None:
    done = await harness.completed(new_job("other"))
    stopped = new_waiting_job(WHEN_FAILED, done.id)
    follows, waits, plain = new_waiting_job(WHEN_FAILED, stopped.id), new_waiting_job(WHEN_ENDED, stopped.id), new_job()

    started = await harness.start(stopped, follows, waits, plain)

    statuses = [each.chain.first.status.value for each in started]
    assert statuses == ["cancelled", "pending", "pending", "pending"]
    assert [await harness.job(each.chain.first.id) for each in started] == [each.chain.first for each in started]


async def a_cancelled_waiting_job_counts_as_failed_for_its_own_dependents(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    compensation = await harness.started(new_waiting_job(WHEN_FAILED, blocker.id))
    fails = await harness.started(new_job(after=(compensation.id,), on_blocker_failure="fail"))
    starts = await harness.started(new_waiting_job(WHEN_FAILED, compensation.id))
    waits = await harness.started(new_job(after=(compensation.id,)))

    answer = await harness.settled(completed(blocker))

    assert answer.unblocked == ((starts.id, "resize"),)
    statuses = [(await harness.job(job.id)).status for job in (compensation, fails, starts, waits)]
    assert statuses == [Status.CANCELLED, Status.FAILED, Status.PENDING, Status.BLOCKED]


async def a_chain_ends_when_its_last_job_ends(harness: Harness) -> None:
    first = await harness.claimed(new_job("other"))
    jobs = [await harness.started(new_waiting_job(rule, first.id)) for rule in (WHEN_FAILED, WHEN_ENDED)]
    await harness.settled(continued(first, next_job(first)))
    assert [(await harness.job(job.id)).status for job in jobs] == [Status.BLOCKED] * 2

    await harness.settled(failed(await harness.claim_one("publish")))

    assert [(await harness.job(job.id)).status for job in jobs] == [Status.PENDING] * 2


async def a_completion_from_outside_ends_the_wait(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    jobs = [await harness.started(new_waiting_job(rule, blocker.id)) for rule in (WHEN_FAILED, WHEN_ENDED)]

    answer = await harness.perform(Complete(blocker.id, blocker.id, (Completion(b"1"),)))

    assert answer.unblocked == ((jobs[1].id, "resize"),)
    assert [(await harness.job(job.id)).status for job in jobs] == [Status.CANCELLED, Status.PENDING]


async def a_continuation_may_wait_for_a_failure(harness: Harness) -> None:
    done, open_one = await harness.completed(new_job("other")), await harness.claimed(new_job("other"))
    one, two = [await harness.claimed() for _ in range(2)]
    dependents = [await harness.started(new_waiting_job(WHEN_FAILED, job.id)) for job in (one, two)]

    stopped = next_job(one, after=(done.id,), on_blocker_failure=WHEN_FAILED)
    await harness.settled(continued(one, stopped))
    waiting = next_job(two, after=(open_one.id,), on_blocker_failure=WHEN_FAILED)
    await harness.settled(continued(two, waiting))

    assert (await harness.chain(one.id)).last.status is Status.CANCELLED
    assert (await harness.job(dependents[0].id)).status is Status.PENDING
    assert (await harness.chain(two.id)).last.status is Status.BLOCKED
    await harness.settled(failed(open_one))
    assert (await harness.claim_one("publish")).id == waiting.id


async def an_external_continuation_may_be_cancelled_at_once(harness: Harness) -> None:
    done, chain = await harness.completed(new_job("other")), await harness.started()
    follows = await harness.started(new_waiting_job(WHEN_ENDED, chain.id))
    stopped = next_job(chain, after=(done.id,), on_blocker_failure=WHEN_FAILED)

    await harness.perform(Complete(chain.id, chain.id, (Completion(continuation=stopped),)))

    assert (await harness.chain(chain.id)).last.status is Status.CANCELLED
    assert (await harness.job(follows.id)).status is Status.PENDING


async def a_chain_that_a_job_waits_for_is_neither_deleted_nor_pruned(harness: Harness) -> None:
    for rule in (WHEN_FAILED, WHEN_ENDED):
        open_one = await harness.started(new_job("third"))
        blocker = await harness.completed(new_job("other", keep=1))
        job = await harness.started(new_waiting_job(rule, blocker.id, open_one.id))
        harness.clock.advance(5)

        await harness.refused(StillReferenced, Delete((blocker.id,)))
        assert await harness.perform(Prune(100)) == []

        await harness.perform(CancelChains((job.id,)))
        assert await harness.perform(Prune(100)) == [blocker.id]


async def a_cycle_is_refused_for_every_way_of_waiting(harness: Harness) -> None:
    for rule in (WHEN_FAILED, WHEN_ENDED):
        first = await harness.claimed(new_job("other"))
        waiting = await harness.started(new_waiting_job(rule, first.id))

        (answer,) = await harness.settle(continued(first, next_job(first, after=(waiting.id,))))

        assert isinstance(answer.refused, DependencyCycle)
        await harness.perform(CancelChains((waiting.id, first.id)))


async def listeners_read_what_happens_to_waiting_jobs(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    jobs = [await harness.started(new_waiting_job(rule, blocker.id)) for rule in (WHEN_FAILED, WHEN_ENDED)]
    await harness.perform(Listen("listener", 60 * SECOND))
    await harness.settled(completed(blocker))
    stopped = await harness.started(new_waiting_job(WHEN_FAILED, blocker.id))

    events = [(event.kind, event.job_id) for event in await harness.perform(ReadEvents(0, 100))]

    assert events[0] == ("completed", blocker.id)
    assert sorted(events[1:3]) == [("cancelled", jobs[0].id), ("unblocked", jobs[1].id)]
    assert events[3:] == [("created", stopped.id), ("cancelled", stopped.id)]
