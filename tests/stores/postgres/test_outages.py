"""Outages of the server: which ones the store survives, and the errors for the others."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import psycopg
import pytest

from holdfast.engine.operations import ClaimJobs, GetChains, GetJobs, Renew, Settle, Start, TypeTerms
from holdfast.engine.wakeups import ANYTHING
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore, errors
from holdfast.testing.builders import completed, new_job
from holdfast.testing.wakeups import RecordingListener
from tests.servers.postgres import Postgres
from tests.stores.postgres.waiting import wait_until_blocked
from tests.waiting import TIMEOUT, wait_until

LEASE = 60_000_000
TERMS = (TypeTerms("resize", LEASE, 25),)


@pytest.fixture
def long_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry calls for longer than usual: a busy machine may need that time to restart a server."""
    monkeypatch.setattr(errors, "RETRY_FOR", TIMEOUT)


def kill_backends(connection: psycopg.Connection) -> int:
    """Terminate all sessions of the store, and return their number."""
    return len(
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'holdfast'"
        ).fetchall()
    )


async def test_terminated_sessions_are_replaced(store: PostgresStore, connection: psycopg.Connection) -> None:
    jobs = [new_job() for _ in range(6)]
    await store.perform(Start(tuple(jobs[:2])))

    for job in jobs[2:]:
        assert kill_backends(connection) > 0
        await store.perform(Start((job,)))
        store.perform_sync(Renew(()))

    chains = store.perform_sync(GetChains(tuple(job.id for job in jobs)))
    assert all(chain is not None for chain in chains)
    await store.close()


def test_wake_ups_work_again_after_their_session_was_terminated(
    store: PostgresStore, address: str, connection: psycopg.Connection
) -> None:
    received = threading.Event()
    anything = threading.Event()
    store.wakeups.subscribe(lambda hints: anything.set() if hints.anything else received.set())
    other = PostgresStore(address)
    other.open_sync()
    try:
        anything.clear()
        kill_backends(connection)
        # Every subscriber gets `anything` when the session is lost, and again after a new LISTEN.
        assert anything.wait(TIMEOUT)
        wait_until(lambda: store.wakeups.healthy)
        other.perform_sync(Start((new_job(),)))
        assert received.wait(TIMEOUT)
    finally:
        other.close_sync()


def test_subscribers_receive_anything_when_the_server_is_lost(own_server: Postgres) -> None:
    store = PostgresStore(own_server.address())
    store.migrate_sync()
    store.open_sync()
    wait_until(lambda: store.wakeups.healthy)
    listener = RecordingListener(store.wakeups)
    listener.clear()

    own_server.stop()

    listener.receives(ANYTHING)
    assert not store.wakeups.healthy
    store.close_sync()


@pytest.mark.usefixtures("long_retries")
def test_a_crash_of_the_server_loses_nothing_that_was_acknowledged(own_server: Postgres) -> None:
    store = PostgresStore(own_server.address())
    store.migrate_sync()
    store.open_sync()
    acknowledged: list[str] = []
    started = threading.Semaphore(0)
    stop = threading.Event()

    def produce() -> None:
        while not stop.is_set():
            job = new_job()
            store.perform_sync(Start((job,)))
            acknowledged.append(job.id)
            started.release()

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        for how in (signal.SIGQUIT, signal.SIGINT):
            own_server.restart(how)
            while started.acquire(blocking=False):
                pass
            for _ in range(5):
                assert started.acquire(timeout=60)
    finally:
        stop.set()
        producer.join()

    jobs = store.perform_sync(GetJobs(tuple(acknowledged)))
    assert all(job is not None for job in jobs)
    store.close_sync()


def test_a_stopped_server_raises_store_unavailable(own_server: Postgres) -> None:
    store = PostgresStore(own_server.address(notify="off"))
    own_server.stop()

    with pytest.raises(StoreUnavailable) as caught:
        store.open_sync()

    assert "password" not in str(caught.value)


async def test_a_cancelled_task_leaves_no_connection_in_use(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    key = new_job(key="held")
    with psycopg.connect(connection.info.dsn) as other:
        store.join_sync(other).perform(Start((key,)))
        for _ in range(15):
            waiting = asyncio.create_task(store.perform(Start((new_job(key="held"),))))
            await asyncio.to_thread(wait_until_blocked, connection, waiting.done)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        other.rollback()

    (started,) = await store.perform(Start((new_job(key="held"),)))

    assert not started.deduplicated
    await store.close()


@pytest.mark.usefixtures("long_retries")
def test_a_read_only_server_is_waited_for(own_server: Postgres) -> None:
    store = PostgresStore(own_server.address(notify="off"))
    store.migrate_sync()
    store.close_sync()
    _make_read_only(own_server)

    with _after_a_moment(lambda: _make_writable(own_server)):
        (started,) = store.perform_sync(Start((new_job(),)))

    assert not started.deduplicated
    store.close_sync()


def test_renewals_do_not_wait_for_a_transaction_that_holds_another_job(store: PostgresStore) -> None:
    store.perform_sync(Start((new_job(), new_job())))
    first, second = store.perform_sync(ClaimJobs(TERMS, 2, "worker", "token"))
    tx = store.begin_sync()
    tx.perform(Settle((completed(first),)))

    lost = store.perform_sync(Renew(((first.claim, LEASE), (second.claim, 2 * LEASE))))

    tx.rollback()
    (renewed,) = store.perform_sync(GetJobs((second.id,)))
    assert lost == {}
    assert renewed is not None
    assert renewed.leased_until is not None
    assert second.leased_until is not None
    assert renewed.leased_until > second.leased_until


@pytest.mark.usefixtures("long_retries")
def test_a_full_server_is_waited_for(own_server: Postgres) -> None:
    store = PostgresStore(own_server.address(notify="off"))
    store.migrate_sync()
    store.close_sync()
    with own_server.connect() as connection:
        connection.execute("alter system set max_connections = 8")
        connection.execute("alter system set superuser_reserved_connections = 0")
        connection.execute("alter system set max_wal_senders = 0")
    own_server.restart(signal.SIGINT)
    others = [own_server.connect() for _ in range(8)]

    with _after_a_moment(lambda: _close(others)):
        (started,) = store.perform_sync(Start((new_job(),)))

    assert not started.deduplicated
    store.close_sync()


@contextmanager
def _after_a_moment(mend: Callable[[], None]) -> Generator[None]:
    """Call `mend` while the block runs. The block must not end before, because then it did not wait."""
    mending = threading.Event()

    def act() -> None:
        mending.set()
        mend()

    timer = threading.Timer(0.5, act)
    timer.start()
    try:
        yield
        assert mending.is_set(), "it never waited"
    finally:
        timer.join()


def _close(connections: list[psycopg.Connection]) -> None:
    for connection in connections:
        connection.close()


def _make_read_only(server: Postgres) -> None:
    """Make all new sessions read-only. Returns when the server has reloaded the setting."""
    with server.connect() as connection:
        connection.execute("alter system set default_transaction_read_only = on")
        connection.execute("select pg_reload_conf()")
    while True:
        with server.connect() as connection:
            if connection.execute("show default_transaction_read_only").fetchone() == ("on",):
                return


def _make_writable(server: Postgres) -> None:
    with server.connect() as connection:
        connection.execute("set default_transaction_read_only = off")
        connection.execute("alter system reset default_transaction_read_only")
        connection.execute("select pg_reload_conf()")
