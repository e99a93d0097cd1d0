"""The findings of `holdfast doctor` about a PostgreSQL store."""

from __future__ import annotations

import psycopg
import pytest

from holdfast.engine.operations import ClaimJobs, Examine, Finding, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.verbs import examine
from holdfast.testing.builders import new_job
from holdfast.testing.clock import ManualClock
from tests.servers.postgres import Postgres


def found(store: PostgresStore, subject: str) -> Finding:
    (finding,) = [finding for finding in store.perform_sync(Examine()) if finding.subject == subject]
    return finding


def test_a_healthy_store_has_no_warnings(store: PostgresStore) -> None:
    wrong = {finding.subject for finding in store.perform_sync(Examine()) if finding.level != "ok"}

    # The test server runs without fsync.
    assert wrong <= {"durability"}


def test_unsafe_settings_are_named(store: PostgresStore) -> None:
    assert "fsync = off" in found(store, "durability").detail


@pytest.mark.parametrize("index", ["job_due", "blocker_chain"])
def test_a_missing_index_is_named(store: PostgresStore, connection: psycopg.Connection, index: str) -> None:
    connection.execute(f'drop index "{store.schema}".{index}'.encode())

    finding = found(store, "indexes")

    assert finding.level == "error"
    assert index in finding.detail


def test_expired_leases_and_late_jobs_are_counted(store: PostgresStore) -> None:
    clock = store.clock = ManualClock()
    store.perform_sync(Start((new_job(), new_job("publish"))))
    store.perform_sync(ClaimJobs((TypeTerms("resize", 1_000_000, 25),), 1, "worker", "token"))
    clock.advance(600)

    assert found(store, "expired leases").level == "warning"
    assert "'publish' has been due for 600 s" in found(store, "oldest due job").detail


@pytest.mark.parametrize(
    "statements",
    [("begin isolation level repeatable read", "select 1"), ("begin", "create table written (n int)")],
    ids=["by a snapshot", "by a transaction id"],
)
def test_a_session_that_keeps_vacuum_from_removing_rows_is_named(
    own_server: Postgres, monkeypatch: pytest.MonkeyPatch, statements: tuple[str, str]
) -> None:
    store = PostgresStore(own_server.address(notify="off"))
    store.migrate_sync()
    monkeypatch.setattr(
        examine,
        "_HORIZON",
        examine._HORIZON.replace("holder.seconds > 60", "holder.seconds > 0"),  # pyright: ignore[reportPrivateUsage]
    )
    with own_server.connect() as idle:
        for statement in statements:
            idle.execute(statement.encode())
        pid = idle.info.backend_pid

        finding = found(store, "old snapshot")

        assert finding.level == "warning"
        assert f"session {pid} (postgres" in finding.detail
        assert "idle in transaction" in finding.detail
        idle.execute("rollback")
    store.close_sync()
