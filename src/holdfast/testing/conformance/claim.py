"""Claim: which jobs are claimed, in which order, and with which lease and limit of attempts."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.record import UNLIMITED, Record, Status
from holdfast.engine.operations import CancelChains, ClaimJobs, Complete, Completion, Pause, TypeTerms
from holdfast.testing.builders import completed, failed, new_job, released, retrying
from holdfast.testing.conformance.harness import Harness


async def a_claimed_job_is_running_with_a_lease_and_a_token(harness: Harness) -> None:
    await harness.start(new_job())
    harness.clock.advance(5)

    (job,) = await harness.claim(worker="w", token="t", lease=60)

    now = harness.clock()
    assert (job.status, job.attempt, job.worker, job.token) == (Status.RUNNING, 1, "w", "t")
    assert (job.leased_until, job.renewed_at, job.started_at) == (now + 60 * SECOND, now, now)
    assert job.finished_at is None
    assert await harness.job(job.id) == job


async def each_claim_increases_the_attempt_by_one(harness: Harness) -> None:
    job = await harness.claimed()
    numbers = [job.attempt]

    for _ in range(3):
        await harness.settled(retrying(job))
        job = await harness.claim_one()
        numbers.append(job.attempt)

    assert numbers == [1, 2, 3, 4]


async def at_most_the_limit_is_claimed(harness: Harness) -> None:
    await harness.start(*[new_job() for _ in range(5)])

    assert [len(await harness.claim(limit=limit)) for limit in (2, 2, 2, 2)] == [2, 2, 1, 0]


async def all_jobs_of_one_claim_share_its_token(harness: Harness) -> None:
    await harness.start(*[new_job() for _ in range(3)])

    jobs = await harness.claim(limit=3, token="t")

    assert [job.token for job in jobs] == ["t", "t", "t"]


async def a_claim_that_is_sent_again_returns_the_same_jobs(harness: Harness) -> None:
    await harness.start(*[new_job(priority=n % 3) for n in range(250)])
    unheard = await harness.claim(limit=201, token="t")

    received = await harness.claim(limit=240, token="t", again=True)

    assert received == unheard
    assert len(await harness.claim(limit=100)) == 49


async def a_claim_that_is_sent_again_returns_only_jobs_that_are_still_held(harness: Harness) -> None:
    await harness.start(new_job(), new_job())
    kept, lost = await harness.claim(limit=2, token="t")
    await harness.settled(released(lost))
    await harness.claim_one(worker="other")

    assert await harness.claim(limit=2, token="t", again=True) == [kept]


async def a_claim_that_is_sent_again_claims_due_jobs_if_it_had_claimed_none(harness: Harness) -> None:
    first = await harness.claimed(token="earlier")
    job = await harness.started()

    (received,) = await harness.claim(limit=2, token="t", again=True)

    assert (received.id, received.token) == (job.id, "t")
    assert (await harness.job(first.id)).token == "earlier"


async def jobs_of_other_types_are_not_claimed(harness: Harness) -> None:
    await harness.start(new_job("resize"), new_job("publish"), new_job("ship"))

    jobs = await harness.claim("resize", "ship", limit=10)

    assert [job.type for job in jobs] == ["resize", "ship"]
    assert await harness.perform(ClaimJobs((), 10, "w", "t")) == []


async def jobs_are_ordered_by_priority_then_due_time_then_creation(harness: Harness) -> None:
    late, early, low, high, twin = (
        new_job(delay=20),
        new_job(delay=10),
        new_job(priority=-1),
        new_job(priority=5, delay=30),
        new_job(delay=10),
    )
    await harness.start(late, early, low, high, twin)
    harness.clock.advance(60)

    assert _ids(await harness.claim(limit=10)) == [high.id, early.id, twin.id, late.id, low.id]


async def jobs_of_one_batch_are_claimed_in_the_given_order(harness: Harness) -> None:
    jobs = [new_job() for _ in range(30)]
    shuffled = jobs[15:] + jobs[:15]
    await harness.start(*shuffled)

    claimed = [(await harness.claim_one()).id for _ in shuffled]

    assert claimed == [job.id for job in shuffled]


async def the_order_holds_across_types(harness: Harness) -> None:
    jobs = [new_job("a", priority=1), new_job("b", priority=3), new_job("a", priority=2), new_job("c", priority=2)]
    await harness.start(*jobs)

    first = await harness.claim("a", "b", "c", limit=2)
    rest = await harness.claim("c", "b", "a", limit=2)

    assert _ids(first) == [jobs[1].id, jobs[2].id]
    assert _ids(rest) == [jobs[3].id, jobs[0].id]


async def a_job_is_not_claimed_before_its_due_time(harness: Harness) -> None:
    job = await harness.started(new_job(delay=10))

    harness.clock.advance(9.999999)
    assert await harness.claim() == []
    harness.clock.advance(0.000001)
    assert _ids(await harness.claim()) == [job.id]


async def high_priority_does_not_make_a_job_due(harness: Harness) -> None:
    await harness.start(new_job(priority=100, delay=60))
    plain = await harness.started(new_job())

    assert _ids(await harness.claim(limit=10)) == [plain.id]


async def only_pending_jobs_are_claimed(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    await harness.start(new_job(after=(blocker.id,)))
    await harness.completed()
    await harness.settled(failed(await harness.claimed()))
    await harness.perform(CancelChains(((await harness.started()).id,)))
    external = await harness.started()
    await harness.perform(Complete(external.id, external.id, (Completion(output=b"1"),)))
    await harness.claimed()

    assert await harness.claim(limit=10) == []


async def a_running_job_with_an_expired_lease_is_not_claimed_before_it_is_reaped(harness: Harness) -> None:
    await harness.claimed()
    harness.clock.advance(3600)

    assert await harness.claim() == []


async def jobs_of_paused_types_are_not_claimed(harness: Harness) -> None:
    await harness.start(new_job("resize", priority=9), new_job("publish"))
    await harness.perform(Pause(("resize",)))

    jobs = await harness.claim("resize", "publish", limit=10)

    assert [job.type for job in jobs] == ["publish"]


async def each_type_has_its_own_lease_and_limit_of_attempts(harness: Harness) -> None:
    await harness.start(new_job("quick"), new_job("slow"))
    terms = (TypeTerms("quick", 5 * SECOND, 3), TypeTerms("slow", 500 * SECOND, UNLIMITED))

    quick, slow = await harness.perform(ClaimJobs(terms, 10, "w", "t"))

    assert (quick.leased_until, quick.max_attempts) == (harness.clock() + 5 * SECOND, 3)
    assert (slow.leased_until, slow.max_attempts) == (harness.clock() + 500 * SECOND, UNLIMITED)


async def a_job_keeps_its_own_limit_of_attempts(harness: Harness) -> None:
    few = await harness.claimed(new_job(max_attempts=2), max_attempts=7)
    unlimited = await harness.claimed(new_job(max_attempts=UNLIMITED), max_attempts=7)

    assert (few.max_attempts, unlimited.max_attempts) == (2, UNLIMITED)


async def a_job_keeps_the_limit_that_its_first_claim_gave_it(harness: Harness) -> None:
    job = await harness.claimed(max_attempts=7)
    await harness.settled(retrying(job))

    again = await harness.claim_one(max_attempts=99)

    assert (job.max_attempts, again.max_attempts) == (7, 7)


async def a_released_job_is_claimed_again_with_the_same_attempt_number_and_a_new_token(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(released(job))

    again = await harness.claim_one()

    assert (again.id, again.attempt) == (job.id, job.attempt)
    assert again.token != job.token


async def a_claim_clears_the_progress_of_the_attempt_before(harness: Harness) -> None:
    job = await harness.claimed(worker="one")
    await harness.settled(retrying(job))
    harness.clock.advance(10)

    again = await harness.claim_one(worker="two")

    assert (again.worker, again.started_at) == ("two", harness.clock())


async def a_due_job_is_found_among_many_finished_ones(harness: Harness) -> None:
    await harness.start(*[new_job() for _ in range(300)])
    await harness.settle(*[completed(job) for job in await harness.claim(limit=300)])
    due = await harness.started()

    assert _ids(await harness.claim(limit=10)) == [due.id]


async def two_callers_never_receive_the_same_job(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(10):
        wanted = {job.chain.first.id for job in await harness.start(*[new_job() for _ in range(5)])}

        answers = await harness.race([g.claim() for g in [harness, other] * 4])

        given = [job.id for answer in answers if isinstance(answer, list) for job in answer]
        assert sorted(given) == sorted(wanted)
        losers += answers.count([])
    assert losers == 30


async def concurrent_claims_together_return_every_due_job_once(harness: Harness) -> None:
    other = await harness.second_store()
    started = await harness.start(*[new_job() for _ in range(100)])

    answers = await harness.race([g.claim(limit=30) for g in [harness, other] * 4])

    given = [job.id for answer in answers if isinstance(answer, list) for job in answer]
    assert sorted(given) == sorted(one.chain.first.id for one in started)
    assert sum(len(answer) < 30 for answer in answers if isinstance(answer, list)) > 0


def _ids(jobs: list[Record]) -> list[str]:
    return [job.id for job in jobs]
