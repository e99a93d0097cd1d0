"""Claims ahead of free slots: which jobs they take, and what an attempt that began later leaves."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.clock import SECOND
from holdfast.core.ids import new_token
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record, Status
from holdfast.core.steps import Wait
from holdfast.engine.operations import ClaimedJobs, ClaimJobs, GetCounters, Pause, RetryJobs, TypeTerms
from holdfast.testing.builders import completed, failed, new_job, released, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit

FAST = "resize"
SLOW = "render"


async def jobs_of_fast_types_are_claimed_ahead(harness: Harness) -> None:
    jobs = [new_job(FAST) for _ in range(6)]
    await harness.start(*jobs)

    claimed = await _claim(harness, limit=2, ahead=3)

    assert [job.id for job in claimed] == [job.id for job in jobs[:5]]
    assert {(job.status, job.attempt) for job in claimed} == {(Status.RUNNING, 1)}


async def a_claim_without_free_slots_takes_jobs_ahead(harness: Harness) -> None:
    await harness.start(*(new_job(FAST) for _ in range(3)))

    assert len(await _claim(harness, limit=0, ahead=2)) == 2
    assert len(await _claim(harness, limit=0, ahead=2)) == 1


async def hundreds_of_jobs_are_claimed_ahead(harness: Harness) -> None:
    jobs = [new_job(FAST) for _ in range(260)]
    await harness.start(*jobs)

    claimed = await _claim(harness, limit=10, ahead=240)

    assert [job.id for job in claimed] == [job.id for job in jobs[:250]]


async def jobs_of_other_types_are_not_claimed_ahead(harness: Harness) -> None:
    await harness.start(*(new_job(SLOW) for _ in range(3)))

    assert len(await _claim(harness, limit=1, ahead=5)) == 1
    assert await _claim(harness, limit=0, ahead=5) == []


async def no_job_is_claimed_ahead_of_a_better_one_of_another_type(harness: Harness) -> None:
    first, second = new_job(FAST), new_job(FAST)
    await harness.start(first, second)
    harness.clock.advance(1)
    await harness.start(new_job(SLOW))
    harness.clock.advance(1)
    await harness.start(new_job(FAST))

    claimed = await _claim(harness, limit=1, ahead=5)

    assert [job.id for job in claimed] == [first.id, second.id]


async def nothing_is_claimed_ahead_behind_a_job_of_another_type_that_takes_a_slot(harness: Harness) -> None:
    slow = new_job(SLOW, priority=1)
    await harness.start(slow, *(new_job(FAST) for _ in range(4)))

    claimed = await _claim(harness, limit=2, ahead=5)

    assert [job.type for job in claimed] == [SLOW, FAST]
    assert len(await _claim(harness, limit=0, ahead=5)) == 3


async def a_job_with_a_higher_priority_is_claimed_before_jobs_ahead(harness: Harness) -> None:
    await harness.start(*(new_job(FAST) for _ in range(3)), new_job(FAST, priority=5), new_job(FAST, priority=-5))

    claimed = await _claim(harness, limit=1, ahead=3)

    assert [job.priority for job in claimed] == [5, 0, 0, 0]


async def a_paused_type_is_not_claimed_ahead(harness: Harness) -> None:
    await harness.start(*(new_job(FAST) for _ in range(3)))
    await harness.perform(Pause((FAST,)))

    assert await _claim(harness, limit=1, ahead=5) == []


async def a_job_that_is_not_due_is_not_claimed_ahead(harness: Harness) -> None:
    await harness.start(new_job(FAST), new_job(FAST, delay=1))

    assert len(await _claim(harness, limit=1, ahead=5)) == 1


async def jobs_with_lanes_are_not_claimed_ahead(harness: Harness) -> None:
    await harness.start(*(laned(limit(9), type=FAST) for _ in range(4)))

    assert len(await _claim(harness, limit=1, ahead=5)) == 1
    assert await _claim(harness, limit=0, ahead=5) == []


async def no_job_is_claimed_ahead_while_jobs_with_lanes_may_be_claimed(harness: Harness) -> None:
    await harness.start(*(laned(limit(9), type=SLOW) for _ in range(3)), *(new_job(FAST) for _ in range(3)))

    assert len(await _claim(harness, limit=2, ahead=5)) == 2


async def a_claim_ahead_that_is_sent_again_returns_the_same_jobs(harness: Harness) -> None:
    await harness.start(*(new_job(FAST) for _ in range(250)))
    unheard = await _claim(harness, limit=10, ahead=140, token="t")

    assert await _claim(harness, limit=10, ahead=140, token="t", again=True) == unheard
    assert len(unheard) == 150


async def a_job_that_is_released_before_it_began_keeps_its_attempts(harness: Harness) -> None:
    await harness.start(new_job(FAST), new_job(FAST))
    _, waiting = await _claim(harness, limit=1, ahead=1)

    await harness.settled(released(waiting))

    job = await harness.job(waiting.id)
    assert (job.status, job.attempt) == (Status.PENDING, 0)
    assert [each.id for each in await harness.claim(limit=5, worker="other")] == [waiting.id]


async def an_attempt_that_began_after_its_claim_started_then(harness: Harness) -> None:
    """This applies to every end of an attempt, not only to a completion."""
    await harness.start(*(new_job(FAST) for _ in range(5)))
    claimed_at = harness.clock()
    jobs = await harness.claim(limit=5)
    harness.clock.advance(2)
    wait = Wait("cool-down", "", "sleep", 1, 1, 0, delay=SECOND)
    ends = [
        completed(jobs[0]),
        retrying(jobs[1]),
        failed(jobs[2]),
        Settlement(jobs[3].claim, Status.PENDING, "suspended", waits=(wait,)),
        Settlement(jobs[4].claim, Status.CANCELLED, "cancelled"),
    ]

    await harness.settle(*(replace(each, ahead=SECOND // 2) for each in ends))

    begun = claimed_at + SECOND // 2
    assert [(await harness.job(job.id)).started_at for job in jobs] == [begun] * 5
    for job in jobs[1:]:
        (past,) = await harness.past(job.id)
        assert past.started_at == begun


async def the_time_before_an_attempt_began_counts_as_waiting(harness: Harness) -> None:
    job = await harness.claimed(new_job(FAST))
    harness.clock.advance(2)

    await harness.settled(replace(completed(job), ahead=SECOND // 2))

    counts = (await harness.perform(GetCounters())).totals[FAST]
    assert (counts.waits.total, counts.runs.total) == (SECOND // 2, 3 * SECOND // 2)


async def a_claim_names_the_jobs_that_no_worker_had_claimed_before(harness: Harness) -> None:
    """A job whose earlier attempt ended in any way is not named: that attempt may have stored steps."""
    await harness.start(*(new_job(FAST) for _ in range(6)))
    before = await harness.claim(limit=6)
    wait = Wait("cool-down", "", "sleep", 1, 1, 0, delay=0)
    await harness.settle(
        released(before[0]),
        replace(released(before[1]), begun=True),
        retrying(before[2]),
        failed(before[3]),
        Settlement(before[4].claim, Status.PENDING, "suspended", waits=(wait,)),
    )
    await harness.perform(RetryJobs((before[3].id,)))
    await harness.expire()
    await harness.reap(FAST)
    new = [new_job(FAST), new_job(FAST)]
    await harness.start(*new)
    harness.clock.advance(60)

    claimed = await _claim(harness, limit=1, ahead=9, finds_new=True)

    assert {job.id for job in claimed} == {job.id for job in before} | {job.id for job in new}
    assert isinstance(claimed, ClaimedJobs)
    assert set(claimed.new) == {job.id for job in new}


async def a_claim_names_new_jobs_only_if_it_is_asked(harness: Harness) -> None:
    await harness.start(new_job(FAST))

    claimed = await _claim(harness, limit=1, ahead=9)

    assert len(claimed) == 1
    assert not isinstance(claimed, ClaimedJobs) or not claimed.new


async def _claim(
    harness: Harness,
    *,
    limit: int,
    ahead: int,
    token: str | None = None,
    again: bool = False,
    finds_new: bool = False,
) -> list[Record]:
    """Claim jobs of a fast type, which may be claimed ahead, and of another one."""
    terms = (TypeTerms(SLOW, 30 * SECOND, 25), TypeTerms(FAST, 30 * SECOND, 25, ahead=True))
    return await harness.perform(
        ClaimJobs(terms, limit, "worker-1", new_token() if token is None else token, again, ahead, finds_new=finds_new)
    )
