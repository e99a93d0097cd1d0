"""Orders: the jobs of a lane run one at a time, in the order of their start."""

from __future__ import annotations

from typing import cast

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Delete,
    Examine,
    NextDue,
    Operation,
    Prune,
    RetryJobs,
    RunNow,
    SkipJobs,
    Start,
)
from holdfast.errors import JobNotFound, NotPending
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, released, retrying
from holdfast.testing.conformance.builders import run_all
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, order, with_lanes


async def jobs_run_one_at_a_time_in_the_order_of_their_start(harness: Harness) -> None:
    jobs = [laned(order()) for _ in range(4)]
    await harness.start(*jobs)

    for expected in jobs:
        assert [job.id for job in await harness.claim(limit=9)] == [expected.id]
        assert await harness.claim(limit=9) == []
        await harness.settled(completed(await harness.job(expected.id)))


async def each_key_has_an_order_of_its_own(harness: Harness) -> None:
    await harness.start(*(laned(order(key=key)) for key in "aabb"))

    assert len(await harness.claim(limit=9)) == 2
    assert await harness.claim(limit=9) == []


async def types_and_priorities_do_not_change_the_order(harness: Harness) -> None:
    jobs = [laned(order(), type="a"), laned(order(), type="b", priority=9), laned(order(), type="a", priority=5)]
    await harness.start(*jobs)

    assert await run_all(harness, "a", "b") == [job.id for job in jobs]


async def a_job_that_is_not_due_and_leaves_holds_the_lane_no_longer(harness: Harness) -> None:
    for number, leave in enumerate((CancelChains, Delete)):
        front, behind = laned(order(key=str(number)), delay=60), laned(order(key=str(number)))
        await harness.start(front, behind)
        assert await harness.claim(limit=9) == []

        await harness.perform(cast("Operation[object]", leave((front.id,))))

        assert [job.id for job in await harness.claim(limit=9)] == [behind.id]


async def the_jobs_behind_one_that_left_run_in_turn_whatever_their_priority(harness: Harness) -> None:
    front, next_one, last = laned(order(), delay=60), laned(order(), priority=1), laned(order())
    await harness.start(front, next_one, last)
    assert await harness.claim(limit=9) == []

    await harness.perform(CancelChains((front.id,)))

    assert await run_all(harness) == [next_one.id, last.id]


async def a_job_that_is_not_due_holds_the_lane(harness: Harness) -> None:
    first, second = laned(order(), delay=60), laned(order())
    await harness.start(first, second)
    assert await harness.claim(limit=9) == []
    assert await harness.perform(NextDue(("resize",))) == 60_000_000

    harness.clock.advance(60)

    assert await run_all(harness) == [first.id, second.id]


async def a_track_without_due_jobs_uses_no_slot_of_a_claim(harness: Harness) -> None:
    later = [laned(order(key=str(number)), priority=1, delay=60) for number in range(3)]
    ready, plain = laned(order(key="ready"), priority=1), new_job()
    await harness.start(*later, ready, plain)

    assert [job.id for job in await harness.claim(limit=1)] == [ready.id]
    assert [job.id for job in await harness.claim(limit=1)] == [plain.id]


async def the_end_of_a_chain_releases_its_order_whatever_the_lanes_of_its_last_job(harness: Harness) -> None:
    for last in ((), (limit(),), (order(name="other"),)):
        first, second = laned(order(chain=True)), laned(order(chain=True))
        await harness.start(first, second)
        (job,) = await harness.claim(limit=9)
        following = next_job(job)
        await harness.settled(continued(job, with_lanes(following, *last) if last else following))
        assert await harness.claim(limit=9) == []

        await harness.settled(completed(await harness.claim_one("publish")))

        assert [each.id for each in await harness.claim(limit=9)] == [second.id]
        await harness.settled(completed(await harness.job(second.id)))


async def run_now_makes_the_first_job_of_an_order_due(harness: Harness) -> None:
    first, second = laned(order(), delay=60), laned(order())
    await harness.start(first, second)
    assert await harness.claim(limit=9) == []

    await harness.perform(RunNow((first.id,)))

    assert await run_all(harness) == [first.id, second.id]


async def a_job_that_will_be_retried_holds_the_lane(harness: Harness) -> None:
    first, second = laned(order()), laned(order())
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)

    await harness.settled(retrying(job, delay=60))
    assert await harness.claim(limit=9) == []

    harness.clock.advance(60)
    assert await run_all(harness) == [first.id, second.id]


async def a_released_and_a_reaped_job_keep_their_place(harness: Harness) -> None:
    first, second = laned(order()), laned(order())
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)
    await harness.settled(released(job))
    assert [job.id for job in await harness.claim(limit=9)] == [first.id]

    await harness.expire()
    await harness.reap()

    assert await run_all(harness) == [first.id, second.id]


async def a_blocked_job_holds_the_lane(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("plain"))
    first, second = with_lanes(new_job(after=(blocker.id,)), order()), laned(order())
    await harness.start(first, second)
    assert await harness.claim(limit=9) == []

    await harness.settled(completed(blocker))

    assert await run_all(harness) == [first.id, second.id]


async def a_failed_job_holds_the_lane_until_it_is_retried(harness: Harness) -> None:
    first, second = laned(order()), laned(order())
    await harness.start(first, second)
    await _fail(harness)
    assert await harness.claim(limit=9) == []

    await harness.perform(RetryJobs((first.id,)))

    assert await run_all(harness) == [first.id, second.id]


async def a_failed_or_running_job_holds_the_lane_until_it_is_deleted(harness: Harness) -> None:
    first, second, third = laned(order()), laned(order()), laned(order())
    await harness.start(first, second, third)
    await _fail(harness)
    assert await harness.claim(limit=9) == []
    await harness.perform(Delete((first.id,)))
    assert (await harness.claim_one()).id == second.id
    assert await harness.claim(limit=9) == []
    await harness.perform(Delete((second.id,)))
    assert await run_all(harness) == [third.id]


async def a_failed_job_holds_the_lane_until_it_is_skipped(harness: Harness) -> None:
    first, second, third = laned(order()), laned(order()), laned(order())
    await harness.start(first, second, third)
    await _fail(harness)
    assert await harness.claim(limit=9) == []

    await harness.perform(SkipJobs((first.id,)))
    await harness.perform(SkipJobs((first.id,)))
    assert [job.id for job in await harness.claim(limit=9)] == [second.id]

    # A retried job returns to its place.
    await harness.perform(RetryJobs((first.id,)))
    assert await harness.claim(limit=9) == []
    await harness.settled(completed(await harness.job(second.id)))
    assert await run_all(harness) == [first.id, third.id]


async def a_failed_job_does_not_hold_the_lane_of_an_order_that_skips(harness: Harness) -> None:
    first, second, third = (laned(order(hold=False)) for _ in range(3))
    await harness.start(first, second, third)
    await _fail(harness)

    assert [job.id for job in await harness.claim(limit=9)] == [second.id]

    await harness.perform(RetryJobs((first.id,)))
    await harness.settled(completed(await harness.job(second.id)))
    assert await run_all(harness) == [first.id, third.id]


async def a_cancelled_job_never_holds_the_lane(harness: Harness) -> None:
    first, second, third = (laned(order()) for _ in range(3))
    await harness.start(first, second, third)
    await harness.claim(limit=9)

    await harness.perform(CancelChains((first.id, second.id)))

    assert await run_all(harness) == [third.id]


async def a_failed_job_that_holds_a_lane_is_not_pruned(harness: Harness) -> None:
    first, second = with_lanes(new_job(keep=0), order()), laned(order())
    await harness.start(first, second)
    await _fail(harness)
    harness.clock.advance(60)
    assert await harness.perform(Prune(100)) == []

    await harness.perform(SkipJobs((first.id,)))

    assert await harness.perform(Prune(100)) == [first.id]
    assert await run_all(harness) == [second.id]


async def doctor_lists_a_failed_job_that_holds_a_lane(harness: Harness) -> None:
    first = laned(order(key="7"))
    await harness.start(first)
    await _fail(harness)

    findings = await harness.perform(Examine())

    assert any(first.id in finding.detail and "account" in finding.detail for finding in findings)


async def only_failed_jobs_can_be_skipped(harness: Harness) -> None:
    job = await harness.started(laned(order()))

    await harness.refused(NotPending, SkipJobs((job.id,)))
    await harness.refused(JobNotFound, SkipJobs(("unknown",)))


async def the_place_in_an_order_does_not_depend_on_the_store_object(harness: Harness) -> None:
    early, late = laned(order()), laned(order())
    tx = await harness.begin()
    await tx.perform(Start((early,)))
    await tx.commit()
    other = await harness.second_store()
    await other.start(late)

    assert await run_all(harness) == [early.id, late.id]


async def concurrent_claims_keep_the_order(harness: Harness) -> None:
    stores = [harness, *[await harness.second_store() for _ in range(3)]]
    jobs = [laned(order(key=str(n % 2)), type="ab"[n % 3 == 0]) for n in range(24)]
    await harness.start(*jobs)
    done: list[str] = []
    while len(done) < 24:
        answers = await harness.race([store.claim("a", "b", limit=3) for store in stores])
        running = [job for answer in answers if isinstance(answer, list) for job in answer]
        for job in running:
            await harness.settled(completed(job))
        done += [job.id for job in running]

    for parity in (0, 1):
        expected = [job.id for job in jobs[parity::2]]
        assert [id for id in done if id in expected] == expected


async def _fail(harness: Harness) -> Record:
    (job,) = await harness.claim(limit=9)
    await harness.settled(failed(job))
    failed_job = await harness.job(job.id)
    assert failed_job.status is Status.FAILED
    return failed_job
