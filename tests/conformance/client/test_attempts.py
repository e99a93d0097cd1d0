"""prepare and complete: what commits together, what undoes what, and what may be called when."""

from __future__ import annotations

import asyncio
import threading
from queue import Queue
from typing import Any

import pytest

from holdfast import ClaimLost, SyncClient
from tests.conformance.client.faces import AttemptFace, Mode
from tests.conformance.client.scene import PATIENCE, Scene, soon, value


async def _end(scene: Scene, body: Any, number: int = 0) -> Any:
    """Run one attempt with this body; answers the job afterwards."""
    job_type = scene.jobs.get(body.__name__) or scene.job(body)
    chain = await scene.client.start(job_type.bind(number), max_attempts=1)
    await scene.drain()
    return await scene.client.get_job(chain.id)


async def _sides(scene: Scene) -> list[Any]:
    return list((await scene.client.list_chains(type="value")).items)


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_work_complete(scene: Scene, mode: str) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.prepare(mode):
            amount = number * 2
        async with attempt.complete() as done:
            return done.output(amount)

    job = await _end(scene, charge, 21)

    assert (job.status, job.output, job.attempt) == ("completed", 42, 1)


async def test_complete_without_prepare(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            return done.output(number)

    assert (await _end(scene, charge, 5)).output == 5


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_without_complete(scene: Scene, mode: str) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.prepare(mode):
            pass
        return number

    assert (await _end(scene, charge, 5)).output == 5


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_then_continue_by_returning(scene: Scene, mode: str) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.prepare(mode):
            pass
        return next_type.bind(number + 1)

    next_type = scene.jobs.job(value)
    job = await _end(scene, charge, 5)

    assert await scene.client.wait(job.chain_id, timeout=1) == 6


async def test_complete_with_a_continuation_and_side_chains(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(other.bind(1), key="side", delay=1000, priority=3)
            same = await done.start(other.bind(2), key="side")
            assert (same.id, same.deduplicated) == (side.id, True)
            return done.continue_with(next_type.bind(7), delay=60, priority=5, after=[side])

    other, next_type = scene.jobs.job(value), scene.jobs.job(name="next")(value)
    job = await _end(scene, charge)

    assert (job.status, job.output) == ("completed", None)
    (side,) = await _sides(scene)
    current = await scene.now(job.chain_id)
    assert (side.status, side.key, side.job.priority) == ("pending", "side", 3)
    assert (current.type, current.index, current.priority, current.status) == ("next", 1, 5, "blocked")
    assert (current.scheduled_at - scene.time).total_seconds() == 60
    await scene.drain(advance=True)
    assert await scene.client.wait(job.chain_id, timeout=1) == 7


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_an_error_after_complete_undoes_it_all(scene: Scene, mode: str | None) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode):
                pass
        async with attempt.complete() as done:
            await done.start(scene.jobs["value"].bind(1), delay=1000)
            done.continue_with(scene.jobs["value"].bind(2))
        raise ValueError("afterwards")

    scene.jobs.job(value)
    job = await _end(scene, charge)

    assert (job.status, str(job.error)) == ("failed", "ValueError: afterwards")
    assert await _sides(scene) == []
    assert len((await scene.client.list_jobs()).items) == 1


async def test_an_error_inside_complete_that_is_swallowed_fails_the_attempt(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        output = None
        try:
            async with attempt.complete() as done:
                await done.start(scene.jobs["value"].bind(1), delay=1000)
                output = done.output("done")
                raise ValueError("inside")
        except ValueError:
            return output

    scene.jobs.job(value)
    job = await _end(scene, charge)

    assert (job.status, str(job.error)) == ("failed", "ValueError: inside")
    assert await _sides(scene) == []


async def test_an_error_inside_an_atomic_prepare_that_is_swallowed_fails_the_attempt(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        try:
            async with attempt.prepare("atomic"):
                raise ValueError("inside")
        except ValueError:
            return "never mind"

    assert str((await _end(scene, charge)).error) == "ValueError: inside"


async def test_an_error_inside_a_staged_prepare_may_be_handled(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        try:
            async with attempt.prepare():
                raise ValueError("inside")
        except ValueError:
            return "never mind"

    assert (await _end(scene, charge)).output == "never mind"


async def _prepare_twice(attempt: AttemptFace, number: int) -> Any:
    for _ in range(2):
        async with attempt.prepare():
            pass


async def _complete_twice(attempt: AttemptFace, number: int) -> Any:
    async with attempt.complete() as done:
        value = done.output(1)
    async with attempt.complete() as done:
        done.output(2)
    return value


async def _prepare_after_complete(attempt: AttemptFace, number: int) -> Any:
    async with attempt.complete() as done:
        value = done.output(1)
    async with attempt.prepare():
        pass
    return value


async def _complete_inside_prepare(attempt: AttemptFace, number: int) -> Any:
    async with attempt.prepare(), attempt.complete() as done:
        return done.output(1)


async def _output_twice(attempt: AttemptFace, number: int) -> Any:
    async with attempt.complete() as done:
        done.output(1)
        return done.output(1)


async def _decide_nothing(attempt: AttemptFace, number: int) -> Any:
    async with attempt.complete():
        pass


async def _return_another(attempt: AttemptFace, number: int) -> Any:
    async with attempt.complete() as done:
        done.output([1])
    return [1]


async def _unknown_mode(attempt: AttemptFace, number: int) -> Any:
    async with attempt.prepare("sometimes"):
        pass


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (_prepare_twice, "prepare() was called twice"),
        (_complete_twice, "complete() was called twice"),
        (_prepare_after_complete, "prepare() comes before complete()"),
        (_complete_inside_prepare, "complete() comes after the prepare() block"),
        (_output_twice, "decided already"),
        (_decide_nothing, "without done.output"),
        (_return_another, "return what done.output"),
        (_unknown_mode, '"staged" or "atomic"'),
    ],
    ids=lambda each: each.__name__ if callable(each) else None,
)
async def test_a_misuse_fails_the_attempt_and_says_what_to_do(scene: Scene, body: Any, message: str) -> None:
    job = await _end(scene, body)

    assert (job.status, job.output) == ("failed", None)
    assert message in str(job.error)


async def test_continuing_twice_fails_the_attempt(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            done.continue_with(next_type.bind(1))
            return done.continue_with(next_type.bind(2))

    next_type = scene.jobs.job(value)
    job = await _end(scene, charge)

    assert "decided already" in str(job.error)
    assert len((await scene.client.list_jobs()).items) == 1


async def test_an_output_that_does_not_fit_undoes_the_completion(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            await done.start(scene.jobs["value"].bind(1), delay=1000)
            return done.output(float("nan"))

    scene.jobs.job(value)
    job = await _end(scene, charge)

    assert job.status == "failed"
    assert "PayloadRefused" in str(job.error)
    assert await _sides(scene) == []


async def test_a_side_chain_after_nothing_fails_the_attempt(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            await done.start(scene.jobs["value"].bind(1), after=["nowhere"])
            return done.output(1)

    scene.jobs.job(value)
    job = await _end(scene, charge)

    assert (job.status, "nowhere" in str(job.error)) == ("failed", True)
    assert await _sides(scene) == []


async def test_a_lost_claim_can_neither_prepare_nor_complete(scene: Scene) -> None:
    reasons: Queue[str | None] = Queue()

    async def charge(attempt: AttemptFace, number: int) -> Any:
        _cancel(scene, attempt.job.chain_id)
        try:
            if number:
                async with attempt.complete() as done:
                    done.output(1)
            else:
                async with attempt.prepare():
                    pass
        except ClaimLost as lost:
            reasons.put(lost.reason)
            raise
        except asyncio.CancelledError:  # the signal was quicker
            reasons.put(attempt.attempt.signal.reason)
            raise
        raise AssertionError

    for number in (0, 1):
        job = await _end(scene, charge, number)
        assert (job.status, job.output) == ("cancelled", None)
        # Nobody waits for a plain handler whose attempt was aborted; it may still be on its way.
        assert await asyncio.to_thread(reasons.get, timeout=20) == "cancelled"


def _cancel(scene: Scene, chain_id: str) -> None:
    """Cancel in a thread of its own, so that an async and a plain handler can do it alike."""
    thread = threading.Thread(target=SyncClient(scene.store, scene.jobs).cancel, args=(chain_id,))
    thread.start()
    thread.join(20)


async def test_the_token_is_new_for_each_attempt(scene: Scene) -> None:
    tokens: list[str] = []

    async def flaky(attempt: AttemptFace, number: int) -> None:
        tokens.append(attempt.claim.token)
        raise ValueError

    await scene.client.start(scene.job(flaky).bind(), max_attempts=3)
    await scene.drain(advance=True)

    assert len(set(tokens)) == 3


async def test_two_attempts_that_start_one_key_make_one_side_chain(scene: Scene) -> None:
    """However their transactions overlap: on a store that buffers them, the loser's attempt is made again."""

    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(scene.jobs["value"].bind(number), key="shared", delay=100_000)
            return done.output(side.id)

    scene.jobs.job(value)
    charging = scene.job(charge)
    chains = await scene.client.start_many([charging.bind(number) for number in range(10)])
    await scene.drain(advance=True, types=charging, concurrency=10)

    (side,) = await _sides(scene)
    assert {await scene.client.wait(chain, timeout=1) for chain in chains} == {side.id}


async def test_a_continuation_that_would_close_a_cycle_fails_the_attempt(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            side = await done.start(scene.jobs["value"].bind(1), after=[attempt.job.chain_id])
            return done.continue_with(scene.jobs["value"].bind(2), after=[side])

    scene.jobs.job(value)
    job = await _end(scene, charge)

    assert (job.status, job.error.type) == ("failed", "DependencyCycle")
    assert f"{job.id}' waits for" in job.error.message
    assert await _sides(scene) == []


async def test_a_refused_cycle_is_retried_like_any_error(scene: Scene) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        after = [attempt.job.chain_id] if attempt.job.attempt == 1 else []
        return scene.jobs["value"].bind(7).options(after=after)

    scene.jobs.job(value)
    job_type = scene.job(charge)
    chain = await scene.client.start(job_type.bind(1), max_attempts=2)
    await scene.drain(advance=True)

    assert await scene.client.wait(chain, timeout=1) == 7
    assert [each.outcome for each in (await scene.client.report(chain.id)).attempts] == ["failed", "completed"]


async def test_of_two_attempts_that_continue_after_each_other_one_is_refused_and_none_is_lost(scene: Scene) -> None:
    both = threading.Barrier(2) if scene.mode is Mode.SYNC else asyncio.Barrier(2)

    async def charge(attempt: AttemptFace, number: int) -> Any:
        if attempt.job.attempt == 1:
            await _meet(both)
        async with attempt.complete() as done:
            if attempt.job.attempt == 1:
                return done.continue_with(scene.jobs["value"].bind(number), after=[f"chain-{1 - number}"])
            return done.output(number)

    scene.jobs.job(value)
    job_type = scene.job(charge)
    await scene.client.start_many([job_type.bind(n).options(id=f"chain-{n}", max_attempts=2) for n in (0, 1)])
    await scene.drain(advance=True)

    outputs = [await scene.client.wait(f"chain-{n}", timeout=1) for n in (0, 1)]
    errors = [
        each.error.type
        for n in (0, 1)
        for each in (await scene.client.report(f"chain-{n}")).attempts
        if each.error is not None
    ]
    assert (outputs, errors) == ([0, 1], ["DependencyCycle"])


async def _meet(both: threading.Barrier | asyncio.Barrier) -> None:
    """Wait until both attempts run."""
    if isinstance(both, threading.Barrier):
        both.wait(PATIENCE)
    else:
        await soon(both.wait())
