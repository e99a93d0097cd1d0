"""A connection without answers fails at its deadline. A verb whose answer was lost is performed once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from holdfast.core.record import Status
from holdfast.engine.operations import (
    ClaimJobs,
    Complete,
    Completion,
    GetChains,
    Operation,
    RunNow,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.engine.wakeups import Hints
from holdfast.errors import NotPending, StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres import migration as migration_module
from holdfast.stores.postgres.address import parse
from holdfast.stores.postgres.errors import RetrySchedule
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres, shared_postgres
from tests.stores.postgres.proxy import Proxy, proxy_to
from tests.waiting import until, wait_until

TERMS = (TypeTerms("resize", 60_000_000, 25),)


@pytest.fixture
def proxy(server: Postgres) -> Iterator[Proxy]:
    with proxy_to(server.port) as proxy:
        yield proxy


def opened(store: PostgresStore, proxy: Proxy, deadline: str) -> PostgresStore:
    address = shared_postgres().tcp_address(port=proxy.port, schema=store.schema, deadline=deadline, notify="off")
    opened = PostgresStore(address)
    opened.open_sync()
    return opened


@pytest.fixture
def remote(store: PostgresStore, proxy: Proxy) -> Iterator[PostgresStore]:
    """The same store through the proxy."""
    remote = opened(store, proxy, "60")
    yield remote
    remote.close_sync()


@pytest.fixture
def hasty(store: PostgresStore, proxy: Proxy) -> Iterator[PostgresStore]:
    """The same store through the proxy, with a short deadline."""
    hasty = opened(store, proxy, "2")
    yield hasty
    hasty.close_sync()


def test_a_connection_without_answers_fails_at_the_deadline(hasty: PostgresStore, proxy: Proxy) -> None:
    proxy.stop_answering()

    with pytest.raises(StoreUnavailable, match="no answer within 2 s"):
        hasty.perform_sync(Start((new_job(),)))

    proxy.answer_again()
    wait_until(lambda: starts(hasty))


async def test_an_async_connection_without_answers_fails_at_the_deadline(hasty: PostgresStore, proxy: Proxy) -> None:
    await hasty.perform(Start((new_job(),)))
    proxy.stop_answering()

    with pytest.raises(StoreUnavailable, match="no answer within 2 s"):
        await asyncio.wait_for(hasty.perform(Start((new_job(),))), 60)

    proxy.answer_again()
    await until(lambda: starts_too(hasty))
    await hasty.close()


def starts(store: PostgresStore) -> bool:
    """Whether a job can be started. On a busy machine a call may exceed a short deadline."""
    with suppress(StoreUnavailable):
        return bool(store.perform_sync(Start((new_job(),))))
    return False


async def starts_too(store: PostgresStore) -> bool:
    with suppress(StoreUnavailable):
        started = await store.perform(Start((new_job(),)))
        return bool(started)
    return False


def test_a_start_whose_answer_is_lost_creates_one_chain(remote: PostgresStore, proxy: Proxy) -> None:
    job = new_job(key="once")
    proxy.cut_after(b"commit\x00")

    (started,) = remote.perform_sync(Start((job,)))

    assert proxy.cuts == 1
    assert (started.chain.first.id, started.deduplicated) == (job.id, False)
    assert len(remote.perform_sync(GetChains((job.id,)))) == 1


async def test_a_start_whose_answer_and_notify_are_lost_creates_one_chain(store: PostgresStore, proxy: Proxy) -> None:
    remote = PostgresStore(shared_postgres().tcp_address(port=proxy.port, schema=store.schema))
    await remote.open()
    await remote.perform(Start((new_job(),)))  # the statements of the next start are already prepared
    job = new_job()
    proxy.cut_after(job.id.encode())

    (started,) = await remote.perform(Start((job,)))

    assert proxy.cuts == 1
    assert (started.chain.first.id, started.deduplicated) == (job.id, False)
    await remote.close()


def test_a_settlement_whose_answer_is_lost_is_written_once(remote: PostgresStore, proxy: Proxy) -> None:
    remote.perform_sync(Start((new_job(), new_job())))
    first, second = remote.perform_sync(ClaimJobs(TERMS, 2, "worker", "token"))
    remote.perform_sync(Settle((completed(first),)))
    proxy.cut_after(second.id.encode())

    (settled,) = remote.perform_sync(Settle((completed(second),)))

    assert proxy.cuts == 1
    assert settled.written


def test_a_claim_whose_answer_is_lost_returns_its_jobs(remote: PostgresStore, proxy: Proxy) -> None:
    remote.perform_sync(Start(tuple(new_job() for _ in range(4))))
    remote.perform_sync(ClaimJobs(TERMS, 1, "worker", "token-1"))
    proxy.cut_after(b"token-2")

    claimed = remote.perform_sync(ClaimJobs(TERMS, 2, "worker", "token-2"))

    assert proxy.cuts == 1
    assert [job.attempt for job in claimed] == [1, 1]
    assert len(remote.perform_sync(ClaimJobs(TERMS, 4, "worker", "token-3"))) == 1


@pytest.mark.parametrize("begins", [True, False])
def test_a_start_that_replaces_a_chain_is_written_once_if_its_answer_is_lost(
    store: PostgresStore, remote: PostgresStore, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    blocker, waiting = new_job("other"), new_job(key="k", input=b"1", delay=3600)
    remote.perform_sync(Start((blocker, waiting)))
    proxy.cut_after(b"commit\x00")
    pause = RetrySchedule.pause

    def changed_meanwhile(schedule: RetrySchedule, operation: Operation[object], error: BaseException) -> float | None:
        if begins:
            store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
        return pause(schedule, operation, error)

    monkeypatch.setattr(RetrySchedule, "pause", changed_meanwhile)
    after = () if begins else (blocker.id,)

    (started,) = remote.perform_sync(Start((new_job(key="k", input=b"2", dedup="waiting", after=after),)))

    assert proxy.cuts == 1
    assert (started.chain.first.id, started.chain.first.input, started.deduplicated) == (waiting.id, b"2", True)
    assert started.chain.first.status is (Status.RUNNING if begins else Status.BLOCKED)
    if not begins:
        store.perform_sync(Complete(blocker.id, blocker.id, (Completion(output=b"1"),)))
        assert [job.input for job in store.perform_sync(ClaimJobs(TERMS, 9, "worker", "token"))] == [b"2"]


@pytest.mark.parametrize("claimed", ["after it", "before it"])
def test_run_now_succeeds_if_its_answer_is_lost_and_the_job_was_claimed_since(
    store: PostgresStore, remote: PostgresStore, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, claimed: str
) -> None:
    job = new_job(delay=3600)
    remote.perform_sync(Start((job,)))
    if claimed == "before it":
        store.perform_sync(RunNow((job.id,)))
        store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
        proxy.cut_after(job.id.encode())
    else:
        proxy.cut_after(b"commit\x00")
    pause = RetrySchedule.pause

    def claimed_meanwhile(schedule: RetrySchedule, operation: Operation[object], error: BaseException) -> float | None:
        store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
        return pause(schedule, operation, error)

    monkeypatch.setattr(RetrySchedule, "pause", claimed_meanwhile)

    if claimed == "before it":
        with pytest.raises(NotPending):
            remote.perform_sync(RunNow((job.id,)))
    else:
        (made_due,) = remote.perform_sync(RunNow((job.id,)))
        assert made_due.status is Status.RUNNING
    assert proxy.cuts == 1


def test_a_migration_without_answers_fails_at_the_deadline(
    hasty: PostgresStore, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrations = migration_module.migrations

    def stop_then_migrate() -> dict[str, str]:
        proxy.stop_answering()
        return {"9999_later": "select 1", **migrations()}

    monkeypatch.setattr(migration_module, "MIGRATION_SECONDS", 1.0)
    monkeypatch.setattr(migration_module, "migrations", stop_then_migrate)
    with ThreadPoolExecutor(1) as pool:
        migration = pool.submit(hasty.migrate_sync)
        try:
            with pytest.raises(StoreUnavailable, match="no answer within"):
                migration.result(60)
        finally:
            proxy.answer_again()


def test_a_listener_without_answers_closes_within_the_deadline(store: PostgresStore, proxy: Proxy) -> None:
    address = shared_postgres().tcp_address(port=proxy.port, schema=store.schema, deadline="1")
    listening = PostgresStore(address)
    listening.open_sync()
    wait_until(lambda: listening.wakeups.healthy)
    proxy.stop_answering()
    listening.send(Hints(due={"resize"}))
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(listening.close_sync)
        try:
            closing.result(60)  # without the deadline it would never return
        finally:
            proxy.answer_again()


def test_a_listener_that_gets_no_connection_closes_within_the_deadline(store: PostgresStore, proxy: Proxy) -> None:
    proxy.stop_answering()
    address = shared_postgres().tcp_address(port=proxy.port, schema=store.schema, deadline="1")
    wakeups = PostgresWakeups(parse(address))
    wakeups.open(0)
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(wakeups.close)
        try:
            closing.result(60)
        finally:
            proxy.answer_again()


def test_a_completion_whose_answer_is_lost_is_not_sent_again(remote: PostgresStore, proxy: Proxy) -> None:
    job = new_job()
    remote.perform_sync(Start((job,)))
    proxy.cut_after(b"commit\x00")

    with pytest.raises(StoreUnavailable):
        remote.perform_sync(Complete(job.id, job.id, (Completion(output=b"1"),)))

    (chain,) = remote.perform_sync(GetChains((job.id,)))
    assert proxy.cuts == 1
    assert chain is not None
    assert chain.last.status is Status.COMPLETED
