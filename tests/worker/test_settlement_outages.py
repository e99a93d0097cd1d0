"""A settlement or a commit that fails, or whose answer is lost: it takes effect once or not at all."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from holdfast import Attempt, Bound, StoreUnavailable, SyncAttempt
from holdfast.engine.operations import Settle
from holdfast.errors import Conflict
from tests.worker.faulty_store import FaultyStore, When
from tests.worker.harness import WorkerHarness


async def test_settlements_without_an_answer_are_marked_as_sent_again(
    harness: WorkerHarness, faulty: FaultyStore
) -> None:
    @harness.jobs.job
    async def hello() -> str:
        return "hello"

    faulty.fail("settle", when="after", times=2)
    chain = await harness.start(hello.bind())
    async with harness.worker():
        await harness.ended(chain)
        await harness.recorder.receive("completed")

    assert [each.again for each in faulty.performed if isinstance(each, Settle)] == [False, True, True]


@pytest.mark.parametrize("error", [StoreUnavailable("x", "gone"), ZeroDivisionError("a bug")], ids=["named", "unnamed"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_settlement_that_could_not_be_written_is_written_later_once(
    harness: WorkerHarness, faulty: FaultyStore, when: When, error: Exception
) -> None:
    runs: Counter[str] = Counter()

    @harness.jobs.job
    async def count(attempt: Attempt) -> Bound[str]:
        runs[attempt.job.id] += 1
        return finish.bind()

    @harness.jobs.job
    async def finish() -> str:
        return "done"

    fault = faulty.fail("settle", when=when, times=3, error=error)
    chains = await harness.client.start_many([count.bind() for _ in range(20)])
    async with harness.worker():
        for chain in chains:
            await harness.client.wait(chain, timeout=60)
        await harness.recorder.receive("completed", times=20)

    assert fault.met == 3
    assert set(runs.values()) == {1}
    assert len(harness.recorder.find("continued")) == 20
    assert len(harness.recorder.find("completed")) == 20
    jobs = (await harness.client.list_jobs(limit=1000)).items
    assert Counter(job.chain_id for job in jobs) == Counter({chain.id: 2 for chain in chains})


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_failed_attempt_is_counted_once_however_often_it_is_written(
    harness: WorkerHarness, faulty: FaultyStore, when: When
) -> None:
    @harness.jobs.job
    async def flaky(attempt: Attempt) -> int:
        if attempt.job.attempt < 3:
            raise ValueError
        return attempt.job.attempt

    faulty.fail("settle", when=when, times=2)
    chain = await harness.start(flaky.bind())
    async with harness.worker():
        for attempt in (1, 2):
            assert (await harness.ended(chain, times=attempt)).kind == "retrying"
            harness.clock.advance(100)
        assert (await harness.ended(chain, times=3)).kind == "completed"

    report = await harness.report(chain)
    assert [(each.number, each.outcome) for each in report.attempts] == [(1, "failed"), (2, "failed"), (3, "completed")]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_attempts_transaction_with_a_failed_commit_takes_effect_once_or_not_at_all(
    harness: WorkerHarness, faulty: FaultyStore, when: When, plain: bool
) -> None:
    """Before: nothing is committed, and the attempt fails. After: all is committed, and the failure changes nothing."""

    @harness.jobs.job
    async def side() -> None: ...

    if plain:

        @harness.jobs.job(name="careful")
        def careful(attempt: SyncAttempt) -> int:
            with attempt.complete() as done:
                done.start(side.bind(), delay=1000)
                return done.output(attempt.job.attempt)

    else:

        @harness.jobs.job(name="careful")
        async def careful_async(attempt: Attempt) -> int:
            async with attempt.complete() as done:
                await done.start(side.bind(), delay=1000)
                return done.output(attempt.job.attempt)

    faulty.fail("settle", when=when)
    chain = await harness.start(harness.jobs["careful"].bind())
    async with harness.worker():
        event = await harness.ended(chain)
        harness.clock.advance(100)
        await harness.recorder.receive("completed", job_id=chain.id)

    assert event.kind == ("retrying" if when == "before" else "completed")
    assert (await harness.job(chain)).output == (2 if when == "before" else 1)
    assert len(harness.recorder.find("created", type="side")) == 1
    assert len((await harness.client.list_chains(type="side")).items) == 1


async def test_a_worker_that_cannot_settle_stops_claiming(harness: WorkerHarness, faulty: FaultyStore) -> None:
    runs = 0

    @harness.jobs.job
    async def count() -> None:
        nonlocal runs
        runs += 1

    await harness.client.start_many([count.bind() for _ in range(100)])
    fault = faulty.fail("settle", times=None)
    async with harness.worker(concurrency=3):
        await harness.recorder.receive("store_error", times=10)
        most = runs
        fault.end()
        await harness.recorder.receive("completed", times=100)

    assert most <= 6


async def test_a_refused_settlement_does_not_fail_the_others(harness: WorkerHarness, faulty: FaultyStore) -> None:
    """If a store refuses a batch, each settlement is sent by itself."""

    @harness.jobs.job
    async def hello(number: int) -> int:
        return number

    everyone = asyncio.Barrier(4)

    async def together(attempt: Attempt, call_next: object) -> int:
        await everyone.wait()
        return 1

    chains = await harness.client.start_many([hello.bind(number) for number in range(4)])
    fault = faulty.fail("settle", error=Conflict("the whole batch"))
    async with harness.worker(concurrency=4, middlewares=[together]):
        for chain in chains:
            assert (await harness.ended(chain)).kind == "completed"

    assert fault.met == 1


async def test_a_rollback_that_fails_leaves_no_running_job(
    harness: WorkerHarness, faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    @harness.jobs.job
    async def unlucky(attempt: Attempt) -> int:
        async with attempt.complete() as done:
            done.output(1)
        raise ValueError("after completing")

    async def broken(self: object) -> None:
        raise ZeroDivisionError("the connection is gone")

    monkeypatch.setattr("holdfast.stores.buffered_transaction.BufferedTransaction.rollback", broken)
    chain = await harness.start(unlucky.bind())
    async with harness.worker():
        event = await harness.ended(chain)

    assert event.kind == "retrying"
    assert "after completing" in str(event.error)
