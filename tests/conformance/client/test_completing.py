"""completing: completes a chain's current job from outside. Of concurrent calls exactly one succeeds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import (
    AlreadyCompleted,
    Attempt,
    ChainNotFound,
    DependencyCycle,
    PayloadRefused,
    Status,
)
from tests.conformance.client.harness import ClientHarness, in_time, value


async def test_a_pending_job_is_completed_with_an_output(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1), delay=1000)

    async with harness.client.completing(chain.id) as current:
        assert (current.job.type, current.job.status, current.job.input) == ("value", "pending", {"number": 1})
        await current.output(42)

    found = await harness.client.get(chain)
    assert (found.status, found.output, found.job.worker, found.finished_at) == ("completed", 42, None, harness.time)
    assert await harness.drain(advance=True) == []
    assert (await harness.client.report(chain.id)).attempts == []


async def test_a_blocked_job_may_be_completed(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    blocker = await harness.client.start(approve.bind(1), delay=1000)
    chain = await harness.client.start(approve.bind(2), after=[blocker])

    async with harness.client.completing(chain) as current:
        assert current.job.status == "blocked"
        await current.output(7)

    assert await harness.client.wait(chain, timeout=60) == 7
    await harness.drain(advance=True)
    assert (await harness.now(blocker)).status == "completed"
    assert (await harness.now(chain)).output == 7


async def test_the_completion_of_a_running_job_ends_the_claim_of_its_worker(harness: ClientHarness) -> None:
    running, reasons = asyncio.Event(), asyncio.Queue[Any]()

    @harness.jobs.job
    async def slow(attempt: Attempt) -> int:
        running.set()
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        finally:
            reasons.put_nowait(attempt.signal.reason)

    chain = await harness.client.start(slow.bind())
    async with harness.worker(lease=60, renew_interval=0.1):
        await in_time(running.wait())
        async with harness.client.completing(chain) as current:
            assert current.job.status == "running"
            await current.output(7)
        assert await in_time(reasons.get()) == "already_completed"

    assert (await harness.now(chain)).output == 7
    assert [each.outcome for each in (await harness.client.report(chain.id)).attempts] == ["lost"]


async def test_several_continuations_in_one_body(harness: ClientHarness) -> None:
    first, second = harness.jobs.job(value), harness.jobs.job(name="second")(value)
    chain = await harness.client.start(first.bind(1))
    harness.clock.advance(100)

    async with harness.client.completing(chain) as current:
        job = await current.continue_with(second.bind(2))
        assert (job.type, job.index, job.input, current.job.id) == ("second", 1, {"number": 2}, job.id)
        await current.continue_with(second.bind(3), delay=60, priority=4)
        assert (current.job.index, current.job.priority) == (2, 4)
        assert (current.job.scheduled_at - harness.time).total_seconds() == 60

    jobs = (await harness.client.list_jobs(chain=chain)).items
    assert [(job.index, job.status) for job in jobs] == [(2, "pending"), (1, "completed"), (0, "completed")]
    assert (jobs[0].scheduled_at - harness.time).total_seconds() == 60

    async with harness.client.completing(chain) as current:
        assert current.job.index == 2
        await current.continue_with(second.bind(4))
        await current.output(5)

    assert await harness.client.wait(chain, timeout=60) == 5


async def test_a_body_that_only_reads_changes_nothing(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async with harness.client.completing(chain) as current:
        assert current.job.id == chain.id

    assert (await harness.now(chain)).status == "pending"


async def test_an_error_in_the_body_rolls_back_everything(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1))

    async def body() -> None:
        async with harness.client.completing(chain) as current:
            await current.start(approve.bind(9), key="side")
            await current.continue_with(approve.bind(2))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()

    assert [(job.id, job.status) for job in (await harness.client.list_jobs()).items] == [(chain.id, "pending")]
    assert [event.kind for event in harness.reported] == ["created"]


async def test_side_chains_exist_with_the_completion(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1))

    async with harness.client.completing(chain) as current:
        side = await current.start(approve.bind(2), key="side", delay=5)
        same = await current.start(approve.bind(3), key="side")
        await current.output(1)

    assert (same.id, same.deduplicated, side.deduplicated) == (side.id, True, False)
    assert (side.created_at, (side.scheduled_at - side.created_at).total_seconds()) == (harness.time, 5)
    assert (await harness.client.get(side)).scheduled_at == side.scheduled_at
    assert [each.id for each in (await harness.client.list_chains(key="side")).items] == [side.id]


async def test_a_side_chain_without_a_completion_is_refused(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1))

    async def body() -> None:
        async with harness.client.completing(chain) as current:
            await current.start(approve.bind(2))

    with pytest.raises(RuntimeError, match="belongs to a completion"):
        await body()

    assert len((await harness.client.list_chains()).items) == 1


async def test_a_finished_chain_can_be_read_but_not_completed(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1))
    await harness.drain()

    async def body() -> None:
        async with harness.client.completing(chain) as current:
            assert current.job.status == "completed"
            await current.output(2)

    with pytest.raises(AlreadyCompleted) as raised:
        await body()

    assert raised.value.chain_id == chain.id
    assert (await harness.now(chain)).output == 1


async def test_nothing_more_can_follow_an_output(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1))

    async def body() -> None:
        async with harness.client.completing(chain) as current:
            await current.output(2)
            await current.continue_with(approve.bind(3))

    with pytest.raises(AlreadyCompleted):
        await body()

    assert (await harness.now(chain)).status == "pending"


async def test_an_output_of_the_wrong_type_is_refused(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async def body() -> None:
        async with harness.client.completing(chain) as current:
            await current.output("seven")

    with pytest.raises(PayloadRefused):
        await body()

    assert (await harness.now(chain)).status == "pending"


async def test_an_unknown_chain(harness: ClientHarness) -> None:
    async def body() -> None:
        async with harness.client.completing("nothing"):
            raise AssertionError

    with pytest.raises(ChainNotFound):
        await body()


async def test_of_many_concurrent_completions_one_succeeds(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1))

    async def complete(number: int) -> int:
        async with harness.client.completing(chain) as current:
            await current.output(number)
        return number

    answers = await in_time(asyncio.gather(*(complete(number) for number in range(10)), return_exceptions=True))

    (winner,) = [answer for answer in answers if isinstance(answer, int)]
    assert all(isinstance(answer, AlreadyCompleted) for answer in answers if answer != winner)
    assert await harness.client.wait(chain, timeout=60) == winner


async def test_completing_against_a_worker_has_one_winner(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)

    async def complete(chain: Any) -> int:
        async with harness.client.completing(chain) as current:
            await current.output(-1)
        return -1

    chains = await harness.client.start_many([approve.bind(number) for number in range(20)])
    async with harness.worker(concurrency=5):
        answers = await in_time(asyncio.gather(*map(complete, chains), return_exceptions=True))
        outputs = [await harness.client.wait(chain, timeout=60) for chain in chains]

    for number, (answer, output) in enumerate(zip(answers, outputs, strict=True)):
        assert output == (-1 if answer == -1 else number)
        assert answer == -1 or isinstance(answer, AlreadyCompleted)


async def test_completing_unblocks_dependents(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    blocker = await harness.client.start(approve.bind(1), delay=1000)
    blocked = await harness.client.start(approve.bind(2), after=[blocker])

    async with harness.client.completing(blocker) as current:
        await current.output(3)

    assert (await harness.now(blocked)).status == "pending"
    assert [event.kind for event in harness.reported][-2:] == ["completed", "unblocked"]


async def test_an_approval_with_a_deadline(harness: ClientHarness) -> None:
    """If the approval is not completed before its scheduled time, a worker runs it and applies the default."""
    decide = harness.jobs.job(value)
    slow, quick = await harness.client.start_many([decide.bind(0).options(delay=7200) for _ in range(2)])

    async with harness.client.completing(quick) as current:
        await current.output(1)
    await harness.drain(advance=True)

    assert [await harness.client.wait(chain, timeout=60) for chain in (slow, quick)] == [0, 1]
    assert (await harness.client.stats()).counts[Status.COMPLETED] == 2


async def test_a_continuation_that_would_close_a_cycle_is_refused(harness: ClientHarness) -> None:
    approve = harness.jobs.job(value)
    chain = await harness.client.start(approve.bind(1))
    waiting = await harness.client.start(approve.bind(2), after=[chain])

    async def continue_after(other: Any) -> None:
        async with harness.client.completing(chain) as current:
            side = await current.start(approve.bind(3))
            await current.continue_with(approve.bind(4), after=[side, other])

    with pytest.raises(DependencyCycle, match=f"{chain.id}' waits for '{waiting.id}', which waits for '{chain.id}'"):
        await continue_after(waiting)

    assert (await harness.now(chain)).status == "pending"
    assert len((await harness.client.list_jobs()).items) == 2
