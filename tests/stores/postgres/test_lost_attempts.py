"""Which sessions a store terminates to unlock the jobs of lost workers, and which it never terminates."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    Delete,
    Guard,
    LockChain,
    Operation,
    Reap,
    Renew,
    Settle,
)
from holdfast.engine.store import SyncTransaction
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed
from holdfast.testing.clock import ManualClock
from tests.servers.postgres import Postgres
from tests.stores.postgres.app_connections import url
from tests.stores.postgres.lost_attempts import REAP, attempt_of, claimed, held_jobs, wait_until_idle
from tests.stores.postgres.lost_attempts import no_termination as no_termination
from tests.stores.postgres.transaction_pooler import transaction_pooler
from tests.waiting import wait_until

HOUR = 3_600_000_000


def abandon(tx: SyncTransaction) -> None:
    """End a transaction, whatever the state of its session."""
    tx.abandon()
    tx.rollback()


def wait_until_ended(connection: psycopg.Connection, pid: int) -> None:
    wait_until(lambda: not exists(connection, pid))


def exists(connection: psycopg.Connection, pid: int) -> bool:
    return connection.execute("select 1 from pg_stat_activity where pid = %s", [pid]).fetchone() is not None


@pytest.mark.parametrize("settled", [False, True], ids=["in its block", "before its commit"])
def test_an_idle_attempt_with_an_expired_lease_is_ended_and_reaped(
    store: PostgresStore, connection: psycopg.Connection, caplog: pytest.LogCaptureFixture, settled: bool
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    if settled:
        tx.perform(Settle((completed(job),)))
    wait_until_idle(connection, pid)

    assert store.perform_sync(REAP) == []
    wait_until_ended(connection, pid)
    (reaped,) = store.perform_sync(REAP)

    assert reaped.record.id == job.id
    assert reaped.record.status is Status.PENDING
    assert f"terminated session {pid}" in caplog.text
    abandon(tx)


def cancel(chain_id: str) -> CancelChains:
    return CancelChains((chain_id,), b"null")


def delete(chain_id: str) -> Delete:
    return Delete((chain_id,))


@pytest.mark.parametrize(
    "operation",
    [cancel, delete, LockChain],
    ids=["cancel", "delete", "completing"],
)
@pytest.mark.parametrize("joined", [False, True], ids=["by itself", "in the application's transaction"])
def test_an_operation_that_needs_the_job_ends_the_lost_attempt_without_a_reaper(
    server: Postgres,
    store: PostgresStore,
    connection: psycopg.Connection,
    operation: Callable[[str], Operation[Any]],
    joined: bool,
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)

    with server.connect() as application, application.transaction():
        performs = store.join_sync(application).perform if joined else store.perform_sync
        performs(operation(job.chain_id))

    assert not exists(connection, pid)
    abandon(tx)


def test_a_transaction_with_an_old_snapshot_ends_no_attempt(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection
) -> None:
    """Its snapshot shows the lease as it was before the last renewals."""
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    with server.connect() as application:
        application.execute("set lock_timeout = '200ms'")
        application.execute("begin isolation level repeatable read")
        application.execute("select 1")
        wait_until_idle(connection, pid)
        store.perform_sync(Renew(((job.claim, HOUR),)))

        with pytest.raises(psycopg.errors.OperationalError):
            store.join_sync(application).perform(CancelChains((job.chain_id,), b"null"))

        application.execute("rollback")
    tx.perform(Settle((completed(job),)))
    tx.commit()


@pytest.mark.usefixtures("no_termination")
def test_a_live_worker_keeps_its_transaction_beyond_its_first_lease(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)
    assert store.perform_sync(Renew(((job.claim, HOUR),))) == {}

    assert store.perform_sync(REAP) == []

    tx.perform(Settle((completed(job),)))
    tx.commit()
    assert held_jobs(store) == []


@pytest.mark.usefixtures("no_termination")
def test_a_live_worker_whose_renewals_are_blocked_keeps_its_transaction(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    with server.connect() as application, application.transaction():
        application.execute(f'select 1 from "{store.schema}".job for no key update'.encode())
        wait_until_idle(connection, pid)

        assert store.perform_sync(REAP) == []

    tx.perform(Settle((completed(job),)))
    tx.commit()


@pytest.mark.usefixtures("no_termination")
def test_an_attempt_that_was_active_recently_is_not_ended(store: PostgresStore) -> None:
    """During a settlement no renewal succeeds, so an expired lease alone does not mean that the worker is lost."""
    clock = store.clock = ManualClock()
    job = claimed(store, lease=HOUR)
    tx, _ = attempt_of(store, job)
    tx.perform(Settle((completed(job),)))
    clock.advance(7200)

    assert store.perform_sync(REAP) == []

    tx.commit()


@pytest.mark.usefixtures("no_termination")
def test_a_claim_of_the_reapers_own_worker_is_not_reaped(store: PostgresStore, connection: psycopg.Connection) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)

    assert store.perform_sync(Reap(("resize",), (job.claim,), 100)) == []

    tx.perform(Settle((completed(job),)))
    tx.commit()


def test_doctor_names_a_lost_attempt(store: PostgresStore, connection: psycopg.Connection) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)

    (finding,) = held_jobs(store)

    assert f"session {pid} (postgres, holdfast attempt " in finding.detail
    assert "its worker is lost" in finding.detail
    abandon(tx)


def test_a_lost_attempt_behind_a_pooler_is_ended(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection
) -> None:
    with transaction_pooler(server.port) as port:
        pooled = PostgresStore(server.tcp_address(port=port, schema=store.schema, notify="off"))
        job = claimed(pooled)
        tx, pid = attempt_of(pooled, job)
        wait_until_idle(connection, pid)

        store.perform_sync(REAP)
        wait_until_ended(connection, pid)

        assert [reaped.record.id for reaped in store.perform_sync(REAP)] == [job.id]
        abandon(tx)
        pooled.close_sync()


def test_the_name_of_a_session_is_restored_after_the_attempt_and_does_not_contain_the_token(
    store: PostgresStore,
) -> None:
    engine = create_engine(url("psycopg"), connect_args={"application_name": "shop"})
    job = claimed(store)
    with closing(Session(engine)) as session:
        names: list[str] = []
        tx = store.join_sync(session)
        tx.perform(Guard(job.claim))
        names.append(str(session.execute(text("show application_name")).scalar()))
        session.commit()
        names.append(str(session.execute(text("show application_name")).scalar()))
    engine.dispose()

    assert names[0].startswith("holdfast attempt ")
    assert len(names[0]) < 64
    assert job.token is not None
    assert job.token not in names[0]
    assert names[1] == "shop"
