"""Attempts whose worker is lost: their sessions, and waits for them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import psycopg
import pytest

from holdfast.core.record import Record
from holdfast.engine.operations import (
    ClaimJobs,
    Examine,
    Finding,
    Guard,
    Reap,
    Start,
    TypeTerms,
)
from holdfast.engine.store import SyncTransaction
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import new_job
from tests.waiting import wait_until

LEASE = 100_000
REAP = Reap(("resize",), (), 100)


def claimed(store: PostgresStore, *, lease: int = LEASE) -> Record:
    """A job that a worker has claimed."""
    store.perform_sync(Start((new_job(),)))
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", lease, 25),), 1, "worker", "token"))
    return job


def attempt_of(store: PostgresStore, job: Record) -> tuple[SyncTransaction, int]:
    """The transaction of an attempt, which locks the job, and the process id of its session."""
    tx = store.begin_sync()
    tx.perform(Guard(job.claim))
    ((pid,),) = tx.native.execute("select pg_backend_pid()").fetchall()
    return tx, pid


def wait_until_idle(connection: psycopg.Connection, pid: int) -> None:
    """Wait until the session was idle for longer than the lease, so that the lease has expired."""
    idle = "select state_change < clock_timestamp() - interval '300 ms' from pg_stat_activity where pid = %s"
    wait_until(lambda: connection.execute(idle, [pid]).fetchone() == (True,))


def held_jobs(store: PostgresStore) -> list[Finding]:
    return [finding for finding in store.perform_sync(Examine()) if finding.subject == "held job"]


@pytest.fixture
def no_termination(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No session is terminated in the test."""
    with caplog.at_level(logging.WARNING, "holdfast"):
        yield
    assert "terminated session" not in caplog.text
