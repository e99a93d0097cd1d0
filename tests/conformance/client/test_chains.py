"""Chains and blockers: sequences, branches, loops, fan-out and fan-in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Attempt, Bound, Fail, SyncAttempt
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, value


@dataclass(frozen=True)
class Part:
    name: str
    size: int


async def test_a_sequence(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def first(number: int) -> Bound[str]:
        return second.bind(number + 1)

    @harness.jobs.job
    def second(number: int) -> str | Bound[str]:
        return third.bind(number + 1)

    @harness.jobs.job
    async def third(number: int) -> str:
        return f"{number} at last"

    chain = await harness.client.start(first.bind(1))
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == "3 at last"
    jobs = (await harness.client.list_jobs(chain=chain)).items
    assert [(job.index, job.type, job.status) for job in jobs] == [
        (2, "third", "completed"),
        (1, "second", "completed"),
        (0, "first", "completed"),
    ]


@pytest.mark.parametrize(("number", "output"), [(1, "odd 1"), (2, "even 2")])
async def test_a_branch(harness: ClientHarness, number: int, output: str) -> None:
    async def choose(attempt: AttemptAdapter, number: int) -> Any:
        return (odd if number % 2 else even).bind(number)

    @harness.jobs.job
    async def odd(number: int) -> str:
        return f"odd {number}"

    @harness.jobs.job
    def even(number: int) -> str:
        return f"even {number}"

    chain = await harness.client.start(harness.job(choose).bind(number))
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == output


async def test_a_loop_of_a_hundred_jobs(harness: ClientHarness) -> None:
    async def count(attempt: AttemptAdapter, number: int) -> Any:
        assert attempt.job.index == 100 - number
        return counting.bind(number - 1) if number else "done"

    counting = harness.job(count)
    chain = await harness.client.start(counting.bind(100))
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == "done"
    assert (await harness.now(chain)).index == 100


async def test_a_jump_back(harness: ClientHarness) -> None:
    visits: list[str] = []

    async def draft(attempt: AttemptAdapter, number: int) -> Any:
        visits.append(f"draft {number}")
        return reviewing.bind(number)

    async def review(attempt: AttemptAdapter, number: int) -> Any:
        visits.append(f"review {number}")
        return "accepted" if number == 3 else drafting.bind(number + 1)

    drafting, reviewing = harness.job(draft), harness.job(review)
    chain = await harness.client.start(drafting.bind(1))
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == "accepted"
    assert visits == ["draft 1", "review 1", "draft 2", "review 2", "draft 3", "review 3"]


async def test_a_continuation_has_attempts_of_its_own(harness: ClientHarness) -> None:
    async def flaky(attempt: AttemptAdapter, number: int) -> Any:
        if attempt.job.attempt < 3:
            raise ValueError
        return failing.bind(number - 1) if number else attempt.job.attempt

    failing = harness.job(flaky)
    chain = await harness.client.start(failing.bind(1), max_attempts=3)
    await harness.drain(advance=True)

    assert await harness.client.wait(chain, timeout=60) == 3


async def test_a_chain_fails_with_its_last_job(harness: ClientHarness) -> None:
    async def step(attempt: AttemptAdapter, number: int) -> Any:
        if number == 0:
            raise Fail("at the end")
        return stepping.bind(number - 1)

    stepping = harness.job(step)
    chain = await harness.client.start(stepping.bind(2))
    await harness.drain()

    found = await harness.client.get(chain)
    assert (found.status, str(found.error), found.job.index) == ("failed", "Fail: at the end", 2)


async def test_a_blocked_job_waits_for_whole_chains(harness: ClientHarness) -> None:
    order: list[str] = []

    async def step(attempt: AttemptAdapter, number: int) -> Any:
        order.append(f"step {number}")
        return stepping.bind(number - 1) if number else "done"

    async def last(attempt: AttemptAdapter, number: int) -> Any:
        order.append("last")
        outputs: list[Any] = list(attempt.blockers)
        return outputs

    stepping = harness.job(step)
    blocker = await harness.client.start(stepping.bind(2))
    chain = await harness.client.start(harness.job(last).bind(), after=[blocker])
    assert chain.status == "blocked"
    await harness.drain()

    assert order == ["step 2", "step 1", "step 0", "last"]
    assert await harness.client.wait(chain, timeout=60) == ["done"]


async def test_blockers_outputs_are_typed_and_in_order(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def make(name: str, size: int) -> Part:
        return Part(name, size)

    @harness.jobs.job
    async def assemble(attempt: Attempt) -> list[Part]:
        return list(attempt.blockers)

    @harness.jobs.job
    def assemble_plain(attempt: SyncAttempt) -> list[Part]:
        return list(attempt.blockers)

    parts = [await harness.client.start(make.bind(name, size), priority=size) for size, name in enumerate("abc")]
    chains = [await harness.client.start(each.bind(), after=reversed(parts)) for each in (assemble, assemble_plain)]
    await harness.drain()

    for chain in chains:
        assert await harness.client.wait(chain, timeout=60) == [Part("c", 2), Part("b", 1), Part("a", 0)]


async def test_no_blockers_are_an_empty_tuple(harness: ClientHarness) -> None:
    async def look(attempt: AttemptAdapter, number: int) -> Any:
        return attempt.blockers == ()

    chain = await harness.client.start(harness.job(look).bind())
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) is True


async def test_a_completed_blocker_blocks_nothing(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1))
    await harness.drain()

    assert (await harness.client.start(double.bind(2), after=[blocker])).status == "pending"


async def test_fan_out_and_fan_in_over_hundreds(harness: ClientHarness) -> None:
    async def split(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            parts = [await done.start(squaring.bind(each)) for each in range(number)]
            return done.continue_with(adding.bind(), after=parts)

    async def square(attempt: AttemptAdapter, number: int) -> Any:
        return number * number

    async def add(attempt: AttemptAdapter, number: int) -> Any:
        return sum(attempt.blockers)

    splitting, squaring, adding = harness.job(split), harness.job(square), harness.job(add)
    chain = await harness.client.start(splitting.bind(200))
    await harness.drain(concurrency=20)

    assert await harness.client.wait(chain, timeout=60) == sum(each * each for each in range(200))
    assert (await harness.now(chain)).index == 1


async def test_many_jobs_wait_for_one_chain(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1))
    await harness.client.start_many([double.bind(number).options(after=[blocker]) for number in range(100)])

    ran = await harness.drain(concurrency=20)

    assert len(ran) == 101
    assert {event.kind for event in ran} == {"completed"}


async def test_a_batch_may_wait_for_its_own_members(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)

    first, second = await harness.client.start_many(
        [double.bind(1).options(id="the-first"), double.bind(2).options(after=["the-first"])]
    )

    assert (first.id, second.status) == ("the-first", "blocked")
    await harness.drain()
    assert (await harness.now(second)).status == "completed"


async def test_unblocking_keeps_a_later_time(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1))
    blocked = await harness.client.start(double.bind(2), after=[blocker], delay=500)
    await harness.drain()

    job = await harness.now(blocked)
    assert job.status == "pending"
    assert job.scheduled_at == harness.time + timedelta(seconds=500)


async def test_a_failed_blocker_leaves_its_dependent_waiting_for_a_retry(harness: ClientHarness) -> None:
    async def flaky(attempt: AttemptAdapter, number: int) -> Any:
        if not fixed:
            raise Fail
        return number

    fixed: list[bool] = []
    failing, double = harness.job(flaky), harness.jobs.job(value)
    blocker = await harness.client.start(failing.bind(1))
    blocked = await harness.client.start(double.bind(2), after=[blocker])
    await harness.drain()
    assert (await harness.now(blocked)).status == "blocked"

    fixed.append(True)
    await harness.client.retry(blocker)
    await harness.drain()

    assert (await harness.now(blocked)).status == "completed"


@pytest.mark.parametrize("of", ["start", "type"])
@pytest.mark.parametrize("end", ["failed", "cancelled"])
async def test_a_dependent_may_fail_with_its_blocker_transitively(harness: ClientHarness, end: str, of: str) -> None:
    options: Any = {"on_blocker_failure": "fail"} if of == "start" else {}
    declared: Any = {"on_blocker_failure": "fail"} if of == "type" else {}

    async def deletable(attempt: AttemptAdapter, number: int) -> Any:
        raise Fail

    register: Any = harness.jobs.job
    double: Any = register(**declared)(value)
    blocker = await harness.client.start(harness.job(deletable).bind())
    dependent = await harness.client.start(double.bind(1), after=[blocker], **options)
    further = await harness.client.start(double.bind(2), after=[dependent], **options)
    if end == "failed":
        await harness.drain()
    else:
        await harness.client.cancel(blocker)

    for chain in (dependent, further):
        job = await harness.now(chain)
        assert (job.status, "BlockerFailed" in str(job.error)) == ("failed", True)
    late = await harness.client.start(double.bind(3), after=[blocker], **options)
    assert (await harness.now(late)).status == "failed"


async def test_a_blocker_is_found_by_each_job_of_its_dependents_chain(harness: ClientHarness) -> None:
    async def wait_for_side(attempt: AttemptAdapter, number: int) -> Any:
        if number == 0:
            return list[Any](attempt.blockers)
        async with attempt.complete() as done:
            side = await done.start(double.bind(number), delay=60)
            return done.continue_with(waiting.bind(0), after=[side])

    double, waiting = harness.jobs.job(value), harness.job(wait_for_side)
    chain = await harness.client.start(waiting.bind(9))
    await harness.drain()
    assert (await harness.now(chain)).status == "blocked"
    await harness.drain(advance=True)

    assert await harness.client.wait(chain, timeout=60) == [9]
