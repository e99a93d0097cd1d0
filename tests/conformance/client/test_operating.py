"""cancel, retry, run_now, delete, pause and prune: what they answer, and what they refuse."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Attempt, Bound, ChainNotFound, Fail, JobNotFound, NotPending, StillReferenced
from tests.conformance.client.faces import AttemptFace
from tests.conformance.client.scene import Scene, soon, value


async def _fail(attempt: AttemptFace, number: int) -> int:
    if attempt.job.attempt <= number:
        raise Fail("as told")
    return attempt.job.attempt


async def test_cancel_a_pending_a_scheduled_and_a_blocked_chain(scene: Scene) -> None:
    double = scene.jobs.job(value)
    pending = await scene.client.start(double.bind(1))
    scheduled = await scene.client.start(double.bind(1), delay=100)
    blocked = await scene.client.start(double.bind(1), after=[scheduled])

    for subject in (pending, scheduled.id, blocked.job):
        cancelled = await scene.client.cancel(subject, reason="not needed")
        assert (cancelled.status, str(cancelled.error)) == ("cancelled", "Cancelled: not needed")
        assert cancelled.finished_at == scene.time

    assert await scene.drain(advance=True) == []


async def test_cancel_leaves_what_is_finished_alone(scene: Scene) -> None:
    double = scene.jobs.job(value)
    chain = await scene.client.start(double.bind(7))
    await scene.drain()

    cancelled = await scene.client.cancel(chain)

    assert (cancelled.status, cancelled.output) == ("completed", 7)
    assert [event.kind for event in scene.reported] == ["created"]


async def test_cancel_takes_the_chain_at_its_current_step(scene: Scene) -> None:
    @scene.jobs.job
    async def first() -> Bound[int]:
        return second.bind(1).options(delay=100)

    second = scene.jobs.job(name="second")(value)
    chain = await scene.client.start(first.bind())
    await scene.drain()

    cancelled = await scene.client.cancel(chain)

    assert (cancelled.status, cancelled.job.type, cancelled.first_job.status) == ("cancelled", "second", "completed")


async def test_cancel_of_a_running_job_is_final(scene: Scene) -> None:
    running = asyncio.Event()

    @scene.jobs.job
    async def slow() -> Bound[int]:
        running.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            return after.bind(1)  # noqa: B012 - it will not take no for an answer

    after = scene.jobs.job(name="after")(value)
    chain = await scene.client.start(slow.bind())
    async with scene.worker():
        await soon(running.wait())
        cancelled = await scene.client.cancel(chain)

    assert cancelled.status == "cancelled"
    assert [(job.type, job.status) for job in (await scene.client.list_jobs()).items] == [("slow", "cancelled")]
    assert [each.outcome for each in (await scene.client.report(chain.id)).attempts] == ["cancelled"]


async def test_cancel_of_nothing(scene: Scene) -> None:
    with pytest.raises(ChainNotFound, match="nothing"):
        await scene.client.cancel("nothing")


async def test_retry_grants_the_attempts_anew(scene: Scene) -> None:
    failing = scene.job(_fail)
    chain = await scene.client.start(failing.bind(1), max_attempts=1)
    await scene.drain()
    assert (await scene.now(chain)).status == "failed"

    job = await scene.client.retry(chain)

    assert (job.id, job.status, job.attempt, job.scheduled_at) == (chain.id, "pending", 0, scene.time)
    await scene.drain()
    assert (await scene.now(chain)).status == "failed"
    assert [each.number for each in (await scene.client.report(chain.id)).attempts] == [1, 1]


@pytest.mark.parametrize("by", ["job", "chain", "job id", "chain id"])
async def test_retry_and_run_now_take_a_job_a_chain_or_an_id(scene: Scene, by: str) -> None:
    @scene.jobs.job
    async def first() -> Bound[int]:
        return second.bind(1).options(delay=100)

    second = scene.jobs.job(name="second")(value)
    chain = await scene.client.start(first.bind())
    await scene.drain()
    job = await scene.now(chain)
    subject = {"job": job, "chain": chain, "job id": job.id, "chain id": chain.id}[by]

    hurried = await scene.client.run_now(subject)
    await scene.client.cancel(chain)
    retried = await scene.client.retry(subject)

    assert (hurried.id, hurried.scheduled_at) == (job.id, scene.time)
    assert (retried.id, retried.status) == (job.id, "pending")


async def test_retry_of_a_cancelled_and_of_a_blocked_job(scene: Scene) -> None:
    double = scene.jobs.job(value)
    blocker = await scene.client.start(double.bind(1), delay=100)
    blocked = await scene.client.start(double.bind(2), after=[blocker])
    await scene.client.cancel(blocked)

    assert (await scene.client.retry(blocked)).status == "blocked"
    await scene.drain(advance=True)
    assert (await scene.now(blocked)).status == "completed"


async def test_retry_refuses_what_did_not_end_badly(scene: Scene) -> None:
    double = scene.jobs.job(value)
    chain = await scene.client.start(double.bind(1))

    with pytest.raises(NotPending, match="pending; this needs a job that is failed or cancelled"):
        await scene.client.retry(chain)
    await scene.drain()
    with pytest.raises(NotPending, match="completed"):
        await scene.client.retry(chain)
    with pytest.raises(JobNotFound):
        await scene.client.retry("nothing")


async def test_run_now_makes_a_scheduled_or_failing_job_due(scene: Scene) -> None:
    async def flaky(attempt: AttemptFace, number: int) -> int:
        if attempt.job.attempt == 1:
            raise ValueError
        return attempt.job.attempt

    scheduled = await scene.client.start(scene.jobs.job(value).bind(1), delay=1000)
    failing = await scene.client.start(scene.job(flaky).bind())
    await scene.drain()

    for chain in (scheduled, failing):
        await scene.client.run_now(chain)
    await scene.drain()

    assert (await scene.now(scheduled)).status == "completed"
    assert (await scene.now(failing)).output == 2


async def test_run_now_of_a_due_job_changes_nothing(scene: Scene) -> None:
    chain = await scene.client.start(scene.jobs.job(value).bind(1))
    scene.clock.advance(10)

    assert (await scene.client.run_now(chain)).scheduled_at == chain.scheduled_at


async def test_run_now_refuses_what_is_not_pending(scene: Scene) -> None:
    double = scene.jobs.job(value)
    blocker = await scene.client.start(double.bind(1), delay=100)
    blocked = await scene.client.start(double.bind(2), after=[blocker])

    with pytest.raises(NotPending, match="blocked"):
        await scene.client.run_now(blocked)
    with pytest.raises(JobNotFound):
        await scene.client.run_now("nothing")


async def test_delete_answers_what_was_there(scene: Scene) -> None:
    double = scene.jobs.job(value)
    chains = await scene.client.start_many([double.bind(number) for number in range(3)])

    assert await scene.client.delete([chains[0], chains[1].id, "nothing"]) == [chains[0].id, chains[1].id]
    assert await scene.client.delete([chains[0]]) == []
    assert [chain.id for chain in (await scene.client.list_chains()).items] == [chains[2].id]
    assert await scene.client.get(chains[0]) is None


async def test_delete_refuses_while_an_unfinished_job_waits_for_it(scene: Scene) -> None:
    double = scene.jobs.job(value)
    blocker = await scene.client.start(double.bind(1), delay=100)
    blocked = await scene.client.start(double.bind(2), after=[blocker])
    bystander = await scene.client.start(double.bind(3), delay=100)

    with pytest.raises(StillReferenced) as raised:
        await scene.client.delete([bystander, blocker])

    assert raised.value.references == [(blocker.id, blocked.id)]
    assert await scene.client.get(bystander) is not None
    assert sorted(await scene.client.delete([blocker, blocked])) == sorted([blocker.id, blocked.id])


async def test_delete_takes_a_blocker_whose_dependents_are_finished(scene: Scene) -> None:
    double = scene.jobs.job(value)
    blocker = await scene.client.start(double.bind(1))
    blocked = await scene.client.start(double.bind(2), after=[blocker])
    await scene.drain()

    assert await scene.client.delete([blocker]) == [blocker.id]
    assert (await scene.now(blocked)).status == "completed"


async def test_delete_with_cascade_follows_the_blockers_of_every_step(scene: Scene) -> None:
    double = scene.jobs.job(value)
    deepest = await scene.client.start(double.bind(1))
    first_blocker = await scene.client.start(double.bind(1), after=[deepest])
    second_blocker = await scene.client.start(double.bind(1))
    chain = await scene.client.start(double.bind(1), after=[first_blocker])
    bystander = await scene.client.start(double.bind(1), delay=100)
    async with scene.client.completing(chain) as current:
        await current.continue_with(double.bind(2), after=[second_blocker])

    deleted = await scene.client.delete([chain], cascade=True)

    assert sorted(deleted) == sorted(each.id for each in (chain, first_blocker, second_blocker, deepest))
    assert [each.id for each in (await scene.client.list_chains()).items] == [bystander.id]


async def test_delete_of_a_running_job_is_seen_by_its_worker(scene: Scene) -> None:
    running, reasons = asyncio.Event(), asyncio.Queue[Any]()

    @scene.jobs.job
    async def slow(attempt: Attempt) -> None:
        running.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            reasons.put_nowait(attempt.signal.reason)

    chain = await scene.client.start(slow.bind())
    async with scene.worker(lease=3):
        await soon(running.wait())
        assert await scene.client.delete([chain]) == [chain.id]
        assert await soon(reasons.get()) == "not_found"


async def test_pause_and_resume(scene: Scene) -> None:
    double, other = scene.jobs.job(value), scene.jobs.job(name="other")(value)
    chain, another = await scene.client.start(double.bind(1)), await scene.client.start(other.bind(2))

    await scene.client.pause(["value"])
    await scene.client.pause(double)
    assert [event.chain_id for event in await scene.drain()] == [another.id]

    await scene.client.resume(double)
    assert [event.chain_id for event in await scene.drain()] == [chain.id]


async def test_resuming_wakes_a_worker(scene: Scene) -> None:
    double = scene.jobs.job(value)
    await scene.client.pause("value")
    chain = await scene.client.start(double.bind(1))

    async with scene.worker(poll_interval=1000):
        await scene.client.resume("value")
        assert await scene.client.wait(chain, timeout=20) == 1


async def test_prune_takes_what_is_past_its_keep_time(scene: Scene) -> None:
    brief, kept = scene.jobs.job(keep=60)(value), scene.jobs.job(name="kept", keep=None)(value)
    chains = [await scene.client.start(brief.bind(1)), await scene.client.start(kept.bind(1))]
    unfinished = await scene.client.start(brief.bind(1), delay=10_000_000)
    await scene.drain()

    assert await scene.client.prune() == []
    scene.clock.advance(61)
    assert await scene.client.prune() == [chains[0].id]
    scene.clock.advance(1_000_000)
    assert await scene.client.prune() == []
    assert await scene.client.get(unfinished) is not None


async def test_keep_defaults_to_a_week(scene: Scene) -> None:
    chain = await scene.client.start(scene.jobs.job(value).bind(1))
    await scene.drain()

    scene.clock.advance(7 * 86_400 - 1)
    assert await scene.client.prune() == []
    scene.clock.advance(2)
    assert await scene.client.prune() == [chain.id]


async def test_cancel_against_complete_has_one_winner(scene: Scene) -> None:
    double = scene.jobs.job(value)
    for _ in range(5):
        chain = await scene.client.start(double.bind(1))

        async def complete(chain: Any = chain) -> str:
            async with scene.client.completing(chain) as current:
                await current.output(1)
            return "completed"

        async def cancel(chain: Any = chain) -> str:
            return str((await scene.client.cancel(chain)).status)

        answers = await soon(asyncio.gather(complete(), cancel(), return_exceptions=True))
        status = (await scene.now(chain)).status
        assert answers[1] == status
        assert (answers[0] == "completed") is (status == "completed")
