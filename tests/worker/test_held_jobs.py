"""Another transaction holds the row lock of a job: settlements of other jobs are still written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast import Attempt, ClaimLost, Retry, Store, SyncAttempt, SyncClient
from holdfast.engine.operations import Operation
from holdfast.engine.store import SyncTransaction
from holdfast.engine.wakeups import NoWakeups
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.clock import ManualClock
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import emptied_address
from tests.worker.harness import TIMEOUT, WorkerHarness

LONG = 60.0
"""A lease that does not expire during a test."""


@pytest.fixture
def held(clock: ManualClock) -> Iterator[Store]:
    store = PostgresStore(emptied_address(notify="off"), clock=clock, wakeups=NoWakeups())
    yield store
    store.close_sync()


@pytest.fixture
async def harness(held: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> WorkerHarness:
    monkeypatch.setattr("holdfast.worker.settler.BATCH_TIMEOUT", 0.1)
    return WorkerHarness(held, clock)


def unrelated() -> psycopg.Connection:
    """A connection of the application with an open transaction."""
    connection = shared_postgres().connect()
    connection.autocommit = False
    return connection


async def test_other_settlements_are_written_while_a_job_is_locked(harness: WorkerHarness) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def waits(attempt: Attempt) -> int:
        await go_on.wait()
        return attempt.job.attempt

    @harness.jobs.job
    async def quick() -> None: ...

    chains = await harness.client.start_many([waits.bind() for _ in range(6)])
    with unrelated() as connection:
        async with harness.worker(concurrency=6, lease=LONG):
            await harness.recorder.receive("started", times=6)
            SyncClient(harness.store, harness.jobs).cancel(chains[2], tx=connection)
            go_on.set()
            await harness.client.start_many([quick.bind() for _ in range(30)])
            await harness.recorder.receive("completed", times=30 + 5)
            assert not harness.recorder.find("completed", "lost", job_id=chains[2].id)

            connection.rollback()
            await harness.recorder.receive("completed", job_id=chains[2].id)

    assert [(await harness.job(chain)).output for chain in chains] == [1] * 6


async def test_a_locked_job_that_is_then_cancelled_is_lost(harness: WorkerHarness) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def waits() -> None:
        await go_on.wait()

    chain = await harness.start(waits.bind())
    with unrelated() as connection:
        async with harness.worker(lease=LONG):
            await harness.recorder.receive("started")
            SyncClient(harness.store, harness.jobs).cancel(chain, tx=connection)
            go_on.set()
            await harness.recorder.receive("store_error")
            connection.commit()

            assert (await harness.ended(chain)).detail == "cancelled"


async def test_a_worker_that_stops_waits_for_separate_writes(harness: WorkerHarness) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def waits() -> str:
        await go_on.wait()
        return "done"

    chain = await harness.start(waits.bind())
    with unrelated() as connection:
        async with harness.worker(lease=LONG) as worker:
            await harness.recorder.receive("started")
            SyncClient(harness.store, harness.jobs).cancel(chain, tx=connection)
            go_on.set()
            await harness.recorder.receive("store_error")
            worker.stop()
            await harness.recorder.receive("worker_stopping")
            assert not harness.recorder.find("worker_stopped")
            connection.rollback()

    assert (await harness.job(chain)).output == "done"
    assert [event.kind for event in harness.recorder.find("completed", "worker_stopped")] == [
        "completed",
        "worker_stopped",
    ]


@pytest.fixture(params=["postgres", "sqlite"])
def locking(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> Iterator[Store]:
    """A store whose transactions hold locks."""
    if request.param == "postgres":
        yield request.getfixturevalue("held")
    else:
        store = SqliteStore(f"sqlite:///{tmp_path / 'jobs.db'}", clock=clock, wakeups=NoWakeups())
        store.open_sync()
        yield store
        store.close_sync()


async def test_a_plain_handler_that_hangs_in_its_transaction_releases_its_locks_after_its_timeout(
    locking: Store, clock: ManualClock
) -> None:
    harness = WorkerHarness(locking, clock)
    go_on, over = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    @harness.jobs.job(timeout=0.5, retry=Retry(initial=0, jitter=0))
    def hangs(attempt: SyncAttempt) -> int:
        try:
            with attempt.complete() as done:
                if attempt.job.attempt == 1:
                    go_on.wait(TIMEOUT)
                    with suppress(Exception):
                        done.tx.execute("create table left_behind (number integer)")
                        errors.append(AssertionError("it could still write"))
                return done.output(attempt.job.attempt)
        finally:
            if attempt.job.attempt == 1:
                over.set()

    chain = await harness.start(hangs.bind())
    async with harness.worker(lease=LONG):
        try:
            assert (await harness.ended(chain)).kind == "retrying"
            # On a busy machine a later attempt may exceed the timeout too.
            completed = await harness.recorder.receive("completed", job_id=chain.id)
            assert not over.is_set()
        finally:
            go_on.set()
        await asyncio.to_thread(over.wait, TIMEOUT)

    assert not errors
    assert (await harness.job(chain)).output == completed.attempt


async def test_a_plain_handler_that_is_aborted_while_its_transaction_begins_gets_no_transaction(
    locking: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = WorkerHarness(locking, clock)
    begin, go_on, over = locking.begin_lazily_sync, threading.Event(), threading.Event()
    attempts: list[SyncAttempt] = []
    said: list[str] = []

    def begin_for_long() -> SyncTransaction:
        tx = begin()
        attempts[0].signal.wait_sync(TIMEOUT)
        return tx

    @harness.jobs.job(timeout=0.5, retry=Retry(max_attempts=1))
    def late(attempt: SyncAttempt) -> None:
        attempts.append(attempt)
        try:
            with attempt.complete() as done:
                said.append("began")
                go_on.wait(TIMEOUT)
                done.output(None)
        except ClaimLost as lost:
            said.append(lost.reason)
        finally:
            over.set()

    monkeypatch.setattr(locking, "begin_lazily_sync", begin_for_long)
    chain = await harness.start(late.bind())
    async with harness.worker(lease=LONG):
        try:
            assert (await harness.ended(chain)).kind == "failed"
        finally:
            go_on.set()
        await asyncio.to_thread(over.wait, TIMEOUT)

    assert said == ["timeout"]


async def test_an_async_handler_that_continues_after_its_abort_gets_no_transaction(
    locking: Store, clock: ManualClock
) -> None:
    harness = WorkerHarness(locking, clock)
    go_on = asyncio.Event()
    said: list[str] = []

    @harness.jobs.job(timeout=0.2, retry=Retry(max_attempts=1))
    async def stubborn(attempt: Attempt) -> None:
        with suppress(asyncio.CancelledError):
            await go_on.wait()
        said.append(str(attempt.signal.reason))
        async with attempt.prepare():
            said.append("began")
            await go_on.wait()

    chain = await harness.start(stubborn.bind())
    async with harness.worker(lease=LONG):
        try:
            assert (await harness.ended(chain)).kind == "failed"
        finally:
            go_on.set()

    assert said == ["timeout"]
    assert "longer than 0.2 s" in str((await harness.job(chain)).error)


async def test_a_transaction_that_is_closed_while_it_begins_raises_the_abort_reason(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, cut_off, over = harness.store.begin_lazily_sync, threading.Event(), threading.Event()
    said: list[str] = []

    def begin_slowly() -> SyncTransaction:
        tx = begin()
        perform, abandon = tx.perform, tx.abandon

        def perform_late(operation: Operation[Any]) -> Any:
            cut_off.wait(TIMEOUT)
            return perform(operation)

        def cut() -> None:
            abandon()
            cut_off.set()

        monkeypatch.setattr(tx, "perform", perform_late)
        monkeypatch.setattr(tx, "abandon", cut)
        return tx

    @harness.jobs.job(timeout=0.2, retry=Retry(max_attempts=1))
    def late(attempt: SyncAttempt) -> None:
        try:
            with attempt.prepare():
                said.append("prepared")
        except ClaimLost as lost:
            said.append(lost.reason)
        finally:
            over.set()

    monkeypatch.setattr(harness.store, "begin_lazily_sync", begin_slowly)
    await harness.start(late.bind())
    async with harness.worker(lease=LONG):
        await asyncio.to_thread(over.wait, TIMEOUT)

    assert said == ["timeout"]
