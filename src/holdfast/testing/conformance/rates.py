"""Rates: attempts of a lane never begin more often than the rate allows, by the clock of the store."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record
from holdfast.engine.operations import NextDue, RetryJobs
from holdfast.testing.builders import completed, failed, mismatched, released, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, rate


async def attempts_begin_at_the_rate(harness: Harness) -> None:
    await harness.start(*(laned(rate(2, per=60)) for _ in range(4)))
    assert await _claims(harness, 4) == 1

    harness.clock.advance(29)
    assert await _claims(harness, 4) == 0
    harness.clock.advance(1)
    assert await _claims(harness, 4) == 1
    harness.clock.advance(300)
    assert await _claims(harness, 4) == 1


async def a_burst_begins_at_once_and_then_the_rate_applies(harness: Harness) -> None:
    await harness.start(*(laned(rate(1, per=10, burst=3)) for _ in range(9)))

    assert await _claims(harness, 9) == 3
    assert await _claims(harness, 9) == 0
    harness.clock.advance(10)
    assert await _claims(harness, 9) == 1
    harness.clock.advance(25)
    assert await _claims(harness, 9) == 2


async def each_key_has_a_rate_of_its_own(harness: Harness) -> None:
    await harness.start(*(laned(rate(1, key=key)) for key in "aabb"))

    assert await _claims(harness, 9) == 2
    assert await _claims(harness, 9) == 0


async def the_next_time_that_a_rate_allows_is_part_of_next_due(harness: Harness) -> None:
    await harness.start(laned(rate(1, per=10)), laned(rate(1, per=10)))
    (job,) = await harness.claim(limit=9)
    await harness.settled(completed(job))
    harness.clock.advance(3)
    assert await _claims(harness, 9) == 0

    assert await harness.perform(NextDue(("resize",))) == 7_000_000


async def a_weight_uses_as_much_of_the_rate(harness: Harness) -> None:
    await harness.start(laned(rate(1, per=10, burst=5, weight=3)), laned(rate(1, per=10, burst=5, weight=3)))

    assert await _claims(harness, 9) == 1
    assert await harness.perform(NextDue(("resize",))) == 10_000_000
    harness.clock.advance(9)
    assert await _claims(harness, 9) == 0
    harness.clock.advance(1)
    assert await _claims(harness, 9) == 1


async def a_weight_of_zero_does_not_count(harness: Harness) -> None:
    await harness.start(*(laned(rate(1, per=10, weight=0)) for _ in range(5)), laned(rate(1, per=10)))

    assert await _claims(harness, 9) == 6


async def a_retry_counts_as_another_attempt(harness: Harness) -> None:
    await harness.start(laned(rate(1, per=10)))
    (job,) = await harness.claim()
    await harness.settled(retrying(job))

    assert await _claims(harness, 9) == 0
    harness.clock.advance(10)
    assert await _claims(harness, 9) == 1


async def a_job_released_before_its_handler_began_is_not_counted(harness: Harness) -> None:
    first, second = laned(rate(1, per=10)), laned(rate(1, per=10))
    await harness.start(first)
    (job,) = await harness.claim()
    await harness.start(second)

    await harness.settled(released(job))

    assert await _claims(harness, 9) == 1
    assert await _claims(harness, 9) == 0


async def a_job_released_after_its_handler_began_is_counted_once(harness: Harness) -> None:
    first, second = laned(rate(1, per=10)), laned(rate(1, per=10))
    await harness.start(first)
    (job,) = await harness.claim()
    await harness.start(second)

    await harness.settled(_begun(job))

    assert [job.id for job in await harness.claim(limit=9)] == [first.id]
    assert await _claims(harness, 9) == 0
    harness.clock.advance(10)
    assert [job.id for job in await harness.claim(limit=9)] == [second.id]


async def a_mismatched_attempt_is_counted_once(harness: Harness) -> None:
    await harness.start(laned(rate(1, per=10)))
    (job,) = await harness.claim()
    await harness.settled(mismatched(job))

    assert await _claims(harness, 9) == 1


async def a_lost_attempt_counts(harness: Harness) -> None:
    await harness.start(laned(rate(1, per=100)))
    await harness.claim()
    await harness.expire()
    assert len(await harness.reap()) == 1

    assert await _claims(harness, 9) == 0
    harness.clock.advance(100)
    assert await _claims(harness, 9) == 1


async def the_attempts_after_a_retry_by_an_operator_count(harness: Harness) -> None:
    await harness.start(laned(rate(1, per=10)))
    (job,) = await harness.claim()
    await harness.settled(failed(job))

    await harness.perform(RetryJobs((job.id,)))

    assert await _claims(harness, 9) == 0
    harness.clock.advance(10)
    assert await _claims(harness, 9) == 1


async def a_rate_of_zero_lets_no_attempt_begin(harness: Harness) -> None:
    await harness.start(laned(rate(0)))

    assert await _claims(harness, 9) == 0
    assert await harness.perform(NextDue(("resize",))) is None


async def a_job_waits_for_its_rate_and_its_limit(harness: Harness) -> None:
    await harness.start(*(laned(limit(1), rate(1, per=10)) for _ in range(3)))
    (job,) = await harness.claim(limit=9)
    harness.clock.advance(10)
    assert await _claims(harness, 9) == 0
    await harness.settled(completed(job))

    (job,) = await harness.claim(limit=9)
    await harness.settled(completed(job))
    assert await _claims(harness, 9) == 0
    harness.clock.advance(10)
    assert await _claims(harness, 9) == 1


async def a_rate_that_is_not_even_is_never_exceeded(harness: Harness) -> None:
    await harness.start(*(laned(rate(7, per=1)) for _ in range(20)))
    first, begun = harness.clock(), 0
    while begun < 8:
        begun += len(await _settled(harness))
        assert begun <= 1 + 7 * (harness.clock() - first) / SECOND
        harness.clock.advance(0.007)

    assert harness.clock() - first < 1.1 * SECOND


async def concurrent_claims_never_exceed_a_rate(harness: Harness) -> None:
    stores = [harness, *[await harness.second_store() for _ in range(3)]]
    await harness.start(*(laned(rate(1, per=10, burst=2)) for _ in range(30)))
    begun = 0
    for step in range(12):
        answers = await harness.race([store.claim(limit=3) for store in stores])
        begun += sum(len(answer) for answer in answers if isinstance(answer, list))
        assert begun <= 2 + step
        harness.clock.advance(10)
    assert begun == 13


def _begun(job: Record) -> Settlement:
    return replace(released(job), begun=True)


async def _settled(harness: Harness) -> list[Record]:
    jobs = await harness.claim(limit=9)
    for job in jobs:
        await harness.settled(completed(job))
    return jobs


async def _claims(harness: Harness, number: int) -> int:
    return len(await harness.claim(limit=number, lease=86400))
