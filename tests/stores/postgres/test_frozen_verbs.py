"""A process that freezes between two statements of a verb keeps its locks only until the server ends its transaction.

The server ends it after a few seconds, not after the deadline of an operation, which is 30 seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Filter,
    GetJobs,
    ListJobs,
    Operation,
    Reaped,
    RetryJobs,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore, errors
from holdfast.stores.postgres.connection import connect
from holdfast.stores.postgres.verbs import chain_ends, claim_lanes, retry
from holdfast.testing.builders import completed, new_job
from holdfast.testing.lanes import laned, limit
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import fresh_address
from tests.stores.postgres.lost_attempts import REAP, claimed
from tests.waiting import TIMEOUT, wait_until

RECOVERY_SECONDS = 20.0
_IDLE_TRANSACTIONS = (
    "select count(*) from pg_stat_activity where state = 'idle in transaction' and application_name like 'holdfast%'"
)


@pytest.fixture
def stores() -> Iterator[tuple[PostgresStore, PostgresStore]]:
    address = fresh_address()
    frozen, other = PostgresStore(address), PostgresStore(address)
    yield frozen, other
    frozen.close_sync()
    other.close_sync()


@contextmanager
def frozen_in(
    module: Any, function: str, store: PostgresStore, operation: Operation[Any], monkeypatch: pytest.MonkeyPatch
) -> Generator[tuple[Future[Any], Callable[[], None]]]:
    """Perform an operation that stops before it calls this function of its verb, inside its transaction.

    Yields the future of its answer, and a function that lets it continue.
    """
    original = getattr(module, function)
    begun, thawed = threading.Event(), threading.Event()

    def stop_once(*given: Any, **named: Any) -> Any:
        if not begun.is_set():
            begun.set()
            assert thawed.wait(TIMEOUT)
        return original(*given, **named)

    monkeypatch.setattr(module, function, stop_once)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(store.perform_sync, operation)
        try:
            assert begun.wait(TIMEOUT)
            yield future, thawed.set
        finally:
            thawed.set()


def claim(type: str = "resize") -> ClaimJobs:
    return ClaimJobs((TypeTerms(type, 60_000_000, 25),), 10, "worker", new_token())


def test_the_lanes_of_a_frozen_claim_are_claimed_by_others(
    stores: tuple[PostgresStore, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen, other = stores
    other.perform_sync(Start(tuple(laned(limit(2)) for _ in range(4))))
    with frozen_in(claim_lanes, "choose_jobs", frozen, claim(), monkeypatch) as (stopped, thaw):
        assert other.perform_sync(claim()) == []
        began = time.monotonic()
        taken: list[Record] = []

        def claims() -> bool:
            jobs = other.perform_sync(claim())
            taken.extend(jobs)
            return bool(taken)

        wait_until(claims)
        assert time.monotonic() - began < RECOVERY_SECONDS
        thaw()

        # It claims nothing: its session has ended, and a repetition finds the lane full.
        with suppress(StoreUnavailable):
            assert stopped.result(TIMEOUT) == []
    running = other.perform_sync(ListJobs(Filter(statuses=(Status.RUNNING,)), limit=10))
    assert {job.id for job in running} == {job.id for job in taken}
    assert len(taken) == 2


def test_the_jobs_of_a_frozen_settlement_are_reaped_by_others(
    stores: tuple[PostgresStore, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen, other = stores
    job = claimed(other)
    dependent = new_job("dependent", after=(job.chain_id,))
    other.perform_sync(Start((dependent,)))
    settlement = Settle((completed(job),))
    with frozen_in(chain_ends, "unblock_dependents", frozen, settlement, monkeypatch) as (stopped, thaw):
        assert other.perform_sync(REAP) == []
        began = time.monotonic()
        reaped: list[Reaped] = []

        def reaps() -> bool:
            answers = other.perform_sync(REAP)
            reaped.extend(answers)
            return bool(reaped)

        wait_until(reaps)
        assert time.monotonic() - began < RECOVERY_SECONDS
        thaw()

        # Its session has ended, and a repetition finds that the claim is lost.
        (answer,) = stopped.result(TIMEOUT)
    assert answer.lost is not None
    states = other.perform_sync(GetJobs((job.id, dependent.id)))
    assert [None if each is None else each.status for each in states] == [Status.PENDING, Status.BLOCKED]


@pytest.mark.parametrize("retry_for", [6.0, 0.0])
def test_a_call_that_was_blocked_in_its_transaction_is_repeated(
    monkeypatch: pytest.MonkeyPatch, retry_for: float
) -> None:
    """Also a call that is not repeated after a lost answer: the server ended the transaction, so nothing is written."""
    monkeypatch.setattr(connect, "IDLE_TRANSACTION_SECONDS", 0.2)
    monkeypatch.setattr(errors, "RETRY_FOR", retry_for)
    store = PostgresStore(fresh_address())
    job = new_job()
    store.perform_sync(Start((job,)))
    store.perform_sync(CancelChains((job.id,)))
    with frozen_in(retry, "lock_jobs", store, RetryJobs((job.id,)), monkeypatch) as (stopped, thaw):
        with shared_postgres().connect() as connection:
            wait_until(lambda: connection.execute(_IDLE_TRANSACTIONS).fetchone() == (0,))
        thaw()

        (answer,) = stopped.result(TIMEOUT)
    assert answer.status is Status.PENDING
    store.close_sync()
