"""`when="failed"` and `when="ended"`: jobs that wait for a failure or an end of other chains."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Fail, Failure, NotPending, Status
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness


@pytest.fixture
def seen(harness: ClientHarness) -> list[Any]:
    """The blockers of each run of `note`."""
    return []


@pytest.fixture
def note(harness: ClientHarness, seen: list[Any]) -> Any:
    async def note(attempt: AttemptAdapter, number: int) -> None:
        seen.append(attempt.blockers)

    return harness.job(note)


@pytest.fixture
def work(harness: ClientHarness) -> Any:
    @harness.jobs.job
    async def work(number: int) -> int:
        if number < 0:
            raise Fail("negative")
        return number

    return work


async def test_a_failure_starts_the_job_and_is_in_its_blockers(
    harness: ClientHarness, note: Any, work: Any, seen: list[Any]
) -> None:
    bad, later = await harness.client.start(work.bind(-1)), await harness.client.start(work.bind(2), delay=3600)
    chain = await harness.client.start(note.bind(0), after=[bad, later], when="failed")
    assert chain.status is Status.BLOCKED

    await harness.drain()

    assert seen == [(Failure(bad.id, bad.id, "work", {"number": -1}, "Fail: negative", 1), None)]
    assert (await harness.now(chain)).status is Status.COMPLETED


async def test_the_job_is_cancelled_when_all_complete(
    harness: ClientHarness, note: Any, work: Any, seen: list[Any]
) -> None:
    chains = await harness.client.start_many([work.bind(1), work.bind(2)])
    chain = await harness.client.start(note.bind(0).options(after=chains, when="failed"))

    await harness.drain()

    job = await harness.now(chain)
    assert (job.status, str(job.error)) == (
        Status.CANCELLED,
        "BlockersCompleted: the chains whose failure this job waited for have completed",
    )
    assert seen == []
    with pytest.raises(NotPending, match="its blockers have completed"):
        await harness.client.retry(chain)


async def test_the_end_of_all_chains_starts_the_job(
    harness: ClientHarness, note: Any, work: Any, seen: list[Any]
) -> None:
    bad, good, stopped = await harness.client.start_many([work.bind(-1), work.bind(2), work.bind(3).options(delay=60)])
    await harness.client.start(note.bind(0), after=[good, bad, stopped], when="ended")
    await harness.drain()
    assert seen == []

    await harness.client.cancel(stopped, reason="not needed")
    await harness.drain()

    ((output, failure, cancelled),) = seen
    assert (output, failure.error, failure.job_id) == (2, "Fail: negative", bad.id)
    assert (cancelled.job_id, cancelled.attempts) == (stopped.id, 0)
    assert "not needed" in cancelled.error


async def test_continuations_and_side_chains_take_when(
    harness: ClientHarness, note: Any, work: Any, seen: list[Any]
) -> None:
    bad = await harness.client.start(work.bind(-1))

    async def branch(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await done.start(note.bind(0), after=[bad], when="ended")
            return done.continue_with(note.bind(0), after=[bad], when="failed")

    branching = harness.job(branch)
    await harness.drain()
    chain = await harness.client.start(branching.bind(0))
    await harness.drain()

    assert [blockers[0].job_id for blockers in seen] == [bad.id, bad.id]
    assert (await harness.now(chain)).status is Status.COMPLETED


@pytest.mark.parametrize("when", ["failed", "ended"])
async def test_on_blocker_failure_excludes_it(harness: ClientHarness, note: Any, work: Any, when: Any) -> None:
    chain = await harness.client.start(work.bind(1))

    with pytest.raises(ValueError, match="on_blocker_failure"):
        await harness.client.start(note.bind(0), after=[chain], when=when, on_blocker_failure="fail")
    with pytest.raises(ValueError, match="on_blocker_failure"):
        note.bind(0).options(on_blocker_failure="wait").options(when=when)
    with pytest.raises(ValueError, match="after="):
        await harness.client.start(note.bind(0), when=when)

    assert len((await harness.client.list_jobs()).items) == 1


async def test_a_wrong_value_is_refused_and_the_default_may_be_named(
    harness: ClientHarness, note: Any, work: Any, seen: list[Any]
) -> None:
    chain = await harness.client.start(work.bind(1))
    with pytest.raises(ValueError, match="when must be one of 'completed', 'failed', 'ended', not 'never'"):
        await harness.client.start(note.bind(0), after=[chain], when="never")

    await harness.client.start(note.bind(0), after=[chain], when="completed", on_blocker_failure="fail")
    await harness.drain()

    assert seen == [(1,)]


async def test_a_type_that_fails_with_its_blockers_may_wait_for_a_failure(harness: ClientHarness, work: Any) -> None:
    """`on_blocker_failure=` of the type is only a default."""
    received: list[Any] = []

    async def undo(attempt: AttemptAdapter, number: int) -> None:
        received.append(attempt.blockers[0])

    undoing = harness.job(undo, on_blocker_failure="fail")
    bad = await harness.client.start(work.bind(-1))
    await harness.client.start(undoing.bind(0), after=[bad], when="failed")
    await harness.drain()

    assert [failure.type for failure in received] == ["work"]
