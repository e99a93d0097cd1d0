"""completing: a chain's current job is finished from outside, by exactly one of any number who try."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import (
    AlreadyCompleted,
    Attempt,
    ChainNotFound,
    DependencyCycle,
    Jobs,
    PayloadRefused,
    Status,
    WrongJobType,
)
from tests.conformance.client.scene import Scene, soon, value


async def test_a_pending_job_is_completed_with_an_output(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1), delay=1000)

    async with scene.client.completing(chain.id) as current:
        assert (current.job.type, current.job.status, current.job.input) == ("value", "pending", {"number": 1})
        await current.output(42)

    found = await scene.client.get(chain)
    assert (found.status, found.output, found.job.worker, found.finished_at) == ("completed", 42, None, scene.time)
    assert await scene.drain(advance=True) == []
    assert (await scene.client.report(chain.id)).attempts == []


async def test_a_blocked_job_may_be_completed(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    blocker = await scene.client.start(approve.bind(1), delay=1000)
    chain = await scene.client.start(approve.bind(2), after=[blocker])

    async with scene.client.completing(chain) as current:
        assert current.job.status == "blocked"
        await current.output(7)

    assert await scene.client.wait(chain, timeout=1) == 7
    await scene.drain(advance=True)
    assert (await scene.now(blocker)).status == "completed"
    assert (await scene.now(chain)).output == 7


async def test_a_running_job_is_taken_from_its_worker(scene: Scene) -> None:
    running, reasons = asyncio.Event(), asyncio.Queue[Any]()

    @scene.jobs.job
    async def slow(attempt: Attempt) -> int:
        running.set()
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        finally:
            reasons.put_nowait(attempt.signal.reason)

    chain = await scene.client.start(slow.bind())
    async with scene.worker(lease=3):
        await soon(running.wait())
        async with scene.client.completing(chain) as current:
            assert current.job.status == "running"
            await current.output(7)
        assert await soon(reasons.get()) == "already_completed"

    assert (await scene.now(chain)).output == 7
    assert [each.outcome for each in (await scene.client.report(chain.id)).attempts] == ["lost"]


async def test_several_steps_in_a_row(scene: Scene) -> None:
    first, second = scene.jobs.job(value), scene.jobs.job(name="second")(value)
    chain = await scene.client.start(first.bind(1))
    scene.clock.advance(100)

    async with scene.client.completing(chain) as current:
        job = await current.continue_with(second.bind(2))
        assert (job.type, job.index, job.input, current.job.id) == ("second", 1, {"number": 2}, job.id)
        await current.continue_with(second.bind(3), delay=60, priority=4)
        assert (current.job.index, current.job.priority) == (2, 4)
        assert (current.job.scheduled_at - scene.time).total_seconds() == 60

    jobs = (await scene.client.list_jobs(chain=chain)).items
    assert [(job.index, job.status) for job in jobs] == [(2, "pending"), (1, "completed"), (0, "completed")]
    assert (jobs[0].scheduled_at - scene.time).total_seconds() == 60

    async with scene.client.completing(chain) as current:
        assert current.job.index == 2
        await current.continue_with(second.bind(4))
        await current.output(5)

    assert await scene.client.wait(chain, timeout=1) == 5


async def test_a_body_that_only_looks_changes_nothing(scene: Scene) -> None:
    chain = await scene.client.start(scene.jobs.job(value).bind(1))

    async with scene.client.completing(chain) as current:
        assert current.job.id == chain.id

    assert (await scene.now(chain)).status == "pending"


async def test_an_error_in_the_body_undoes_everything(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1))

    async def body() -> None:
        async with scene.client.completing(chain) as current:
            await current.start(approve.bind(9), key="side")
            await current.continue_with(approve.bind(2))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()

    assert [(job.id, job.status) for job in (await scene.client.list_jobs()).items] == [(chain.id, "pending")]
    assert [event.kind for event in scene.reported] == ["created"]


async def test_side_chains_exist_with_the_completion(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1))

    async with scene.client.completing(chain) as current:
        side = await current.start(approve.bind(2), key="side", delay=5)
        same = await current.start(approve.bind(3), key="side")
        await current.output(1)

    assert (same.id, same.deduplicated, side.deduplicated) == (side.id, True, False)
    assert (side.created_at, (side.scheduled_at - side.created_at).total_seconds()) == (scene.time, 5)
    assert (await scene.client.get(side)).scheduled_at == side.scheduled_at
    assert [each.id for each in (await scene.client.list_chains(key="side")).items] == [side.id]


async def test_a_side_chain_without_a_completion_is_refused(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1))

    async def body() -> None:
        async with scene.client.completing(chain) as current:
            await current.start(approve.bind(2))

    with pytest.raises(RuntimeError, match="belongs to a completion"):
        await body()

    assert len((await scene.client.list_chains()).items) == 1


async def test_a_finished_chain_can_be_looked_at_and_not_completed(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1))
    await scene.drain()

    async def body() -> None:
        async with scene.client.completing(chain) as current:
            assert current.job.status == "completed"
            await current.output(2)

    with pytest.raises(AlreadyCompleted) as raised:
        await body()

    assert raised.value.chain_id == chain.id
    assert (await scene.now(chain)).output == 1


async def test_nothing_more_can_follow_an_output(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1))

    async def body() -> None:
        async with scene.client.completing(chain) as current:
            await current.output(2)
            await current.continue_with(approve.bind(3))

    with pytest.raises(AlreadyCompleted):
        await body()

    assert (await scene.now(chain)).status == "pending"


async def test_an_output_of_the_wrong_type_is_refused(scene: Scene) -> None:
    chain = await scene.client.start(scene.jobs.job(value).bind(1))

    async def body() -> None:
        async with scene.client.completing(chain) as current:
            await current.output("seven")

    with pytest.raises(PayloadRefused):
        await body()

    assert (await scene.now(chain)).status == "pending"


async def test_a_chain_that_never_was(scene: Scene) -> None:
    async def body() -> None:
        async with scene.client.completing("nothing"):
            raise AssertionError

    with pytest.raises(ChainNotFound):
        await body()


async def test_of_many_who_complete_one_wins(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1))

    async def complete(number: int) -> int:
        async with scene.client.completing(chain) as current:
            await current.output(number)
        return number

    answers = await soon(asyncio.gather(*(complete(number) for number in range(10)), return_exceptions=True))

    (winner,) = [answer for answer in answers if isinstance(answer, int)]
    assert all(isinstance(answer, AlreadyCompleted) for answer in answers if answer != winner)
    assert await scene.client.wait(chain, timeout=1) == winner


async def test_completing_against_a_worker_has_one_winner(scene: Scene) -> None:
    approve = scene.jobs.job(value)

    async def complete(chain: Any) -> int:
        async with scene.client.completing(chain) as current:
            await current.output(-1)
        return -1

    chains = await scene.client.start_many([approve.bind(number) for number in range(20)])
    async with scene.worker(concurrency=5):
        answers = await soon(asyncio.gather(*map(complete, chains), return_exceptions=True))
        outputs = [await scene.client.wait(chain, timeout=20) for chain in chains]

    for number, (answer, output) in enumerate(zip(answers, outputs, strict=True)):
        assert output == (-1 if answer == -1 else number)
        assert answer == -1 or isinstance(answer, AlreadyCompleted)


async def test_completing_unblocks_what_waits(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    blocker = await scene.client.start(approve.bind(1), delay=1000)
    blocked = await scene.client.start(approve.bind(2), after=[blocker])

    async with scene.client.completing(blocker) as current:
        await current.output(3)

    assert (await scene.now(blocked)).status == "pending"
    assert [event.kind for event in scene.reported][-2:] == ["completed", "unblocked"]


async def test_an_approval_with_a_deadline(scene: Scene) -> None:
    """Scheduled for later, a worker decides by default; completed before that, it never gets the chance."""
    decide = scene.jobs.job(value)
    slow, quick = await scene.client.start_many([decide.bind(0).options(delay=7200) for _ in range(2)])

    async with scene.client.completing(quick) as current:
        await current.output(1)
    await scene.drain(advance=True)

    assert [await scene.client.wait(chain, timeout=1) for chain in (slow, quick)] == [0, 1]
    assert (await scene.client.stats()).counts[Status.COMPLETED] == 2


async def text(number: int) -> str:
    return str(number)


async def test_a_continuation_with_an_output_of_another_type_is_refused(scene: Scene) -> None:
    first, other = scene.jobs.job(value), scene.jobs.job(text)
    chain = await scene.client.start(first.bind(1))

    with pytest.raises(TypeError, match=r"value continues to what gives int; text gives str"):
        async with scene.client.completing(chain.id) as current:
            await current.continue_with(other.bind(2))

    assert (await scene.now(chain)).status == "pending"
    await scene.drain()
    assert await scene.client.wait(chain, timeout=1) == 1


async def test_a_declared_type_without_a_function_is_checked_too(scene: Scene) -> None:
    first, other = scene.jobs.declare(value), scene.jobs.job(text)
    chain = await scene.client.start(first.bind(1))

    with pytest.raises(TypeError, match="text gives str"):
        async with scene.client.completing(chain.id) as current:
            await current.continue_with(other.bind(2))

    assert (await scene.now(chain)).type == "value"


async def test_each_of_several_steps_is_checked(scene: Scene) -> None:
    first, other = scene.jobs.job(value), scene.jobs.job(text)
    elsewhere = Jobs().job(name="elsewhere")(value)
    chain = await scene.client.start(first.bind(1))

    async with scene.client.completing(chain.id) as current:
        await current.continue_with(elsewhere.bind(2))
        with pytest.raises(TypeError, match="elsewhere continues to what gives int"):
            await current.continue_with(other.bind(3))

    assert (await scene.now(chain)).type == "elsewhere"


async def test_where_the_current_type_is_unknown_the_type_of_the_chain_counts(scene: Scene) -> None:
    first, other = scene.jobs.job(value), scene.jobs.job(text)
    elsewhere = Jobs().job(name="elsewhere")(value)
    chain = await scene.client.start(first.bind(1))
    async with scene.client.completing(chain) as current:
        await current.continue_with(elsewhere.bind(2))

    with pytest.raises(TypeError, match="value continues to what gives int; text gives str"):
        async with scene.client.completing(chain) as current:
            await current.continue_with(other.bind(3))

    assert (await scene.now(chain)).type == "elsewhere"


async def test_a_chain_whose_current_job_has_another_type_than_named_is_refused(scene: Scene) -> None:
    first, second = scene.jobs.job(value), scene.jobs.job(name="second")(value)
    chain = await scene.client.start(first.bind(1))

    with pytest.raises(WrongJobType, match="is of type 'value', not 'second'") as refused:
        async with scene.client.completing(chain, type=second):
            raise AssertionError("it was let in")

    assert (refused.value.chain_id, refused.value.type, refused.value.wanted) == (chain.id, "value", "second")
    async with scene.client.completing(chain, type=first) as current:
        await current.continue_with(second.bind(2))
    with pytest.raises(WrongJobType):
        async with scene.client.completing(chain.id, type="value"):
            raise AssertionError("it was let in")
    async with scene.client.completing(chain.id, type="second") as current:
        await current.output(5)
    assert await scene.client.wait(chain, timeout=1) == 5


async def test_a_named_type_is_compared_where_this_client_does_not_know_the_current_one(scene: Scene) -> None:
    first, elsewhere = scene.jobs.job(value), Jobs().job(name="elsewhere")(value)
    chain = await scene.client.start(elsewhere.bind(1))

    with pytest.raises(WrongJobType, match="is of type 'elsewhere', not 'value'"):
        async with scene.client.completing(chain.id, type=first):
            raise AssertionError("it was let in")

    async with scene.client.completing(chain.id, type=elsewhere) as current:
        await current.output(3)
    assert (await scene.now(chain)).output == 3


async def test_a_continuation_that_would_close_a_cycle_is_refused(scene: Scene) -> None:
    approve = scene.jobs.job(value)
    chain = await scene.client.start(approve.bind(1))
    waiting = await scene.client.start(approve.bind(2), after=[chain])

    async def continue_after(other: Any) -> None:
        async with scene.client.completing(chain) as current:
            side = await current.start(approve.bind(3))
            await current.continue_with(approve.bind(4), after=[side, other])

    with pytest.raises(DependencyCycle, match=f"{chain.id}' waits for '{waiting.id}', which waits for '{chain.id}'"):
        await continue_after(waiting)

    assert (await scene.now(chain)).status == "pending"
    assert len((await scene.client.list_jobs()).items) == 2
