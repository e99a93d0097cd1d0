"""Behind a pooler in transaction mode: sessions stay unchanged, and the store detects that LISTEN does not work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from holdfast.cli.app import app
from holdfast.core.ids import new_id
from holdfast.engine.operations import CancelChains, ClaimJobs, GetChains, Operation, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.errors import RetrySchedule, sqlstate
from holdfast.stores.postgres.wakeups import listen_check
from holdfast.testing.builders import completed, new_job
from tests.servers.pgbouncer import find_pgbouncer, running_pgbouncer
from tests.servers.postgres import Postgres
from tests.stores.postgres.transaction_pooler import transaction_pooler
from tests.stores.postgres.waiting import wait_until_blocked

TERMS = (TypeTerms("resize", 60_000_000, 25),)


@pytest.fixture
def port(server: Postgres) -> Iterator[int]:
    """The port of PgBouncer if it is installed, otherwise of a simulated pooler."""
    program = find_pgbouncer()
    pooler = transaction_pooler(server.port) if program is None else running_pgbouncer(program, server)
    with pooler as port:
        yield port


@pytest.fixture
def pooled(server: Postgres, store: PostgresStore, port: int) -> Iterator[PostgresStore]:
    pooled = PostgresStore(server.tcp_address(port=port, schema=store.schema, notify="off"))
    pooled.open_sync()
    yield pooled
    pooled.close_sync()


async def churn(pooled: PostgresStore) -> None:
    """Start, claim and settle concurrently, and check that each happens once."""
    jobs = [new_job(key=f"key-{number % 7}", dedup="any") for number in range(60)]

    started = await asyncio.gather(*(pooled.perform(Start((job,))) for job in jobs))
    claims = await asyncio.gather(
        *(pooled.perform(ClaimJobs(TERMS, 1, "worker", f"token-{number}")) for number in range(9))
    )
    held = [job for claim in claims for job in claim]
    await asyncio.gather(*(pooled.perform(Settle((completed(job),))) for job in held))

    assert sum(not each.deduplicated for (each,) in started) == 7
    assert len({job.id for job in held}) == len(held) == 7
    chains = await pooled.perform(GetChains(tuple(job.id for job in held)))
    assert all(chain is not None and chain.last.status.value == "completed" for chain in chains)
    await pooled.close()


async def test_the_session_may_change_between_two_transactions(pooled: PostgresStore) -> None:
    await churn(pooled)


@pytest.fixture
def serializable(own_server: Postgres) -> Iterator[PostgresStore]:
    """A store behind a pooler, so that no setting is changed, with a role whose default is serializable."""
    with own_server.connect() as connection:
        connection.execute("alter role postgres set default_transaction_isolation = serializable")
        connection.execute("alter role postgres set application_name = 'holdfast'")
    with transaction_pooler(own_server.port) as port:
        store = PostgresStore(own_server.tcp_address(port=port, notify="off"))
        store.migrate_sync()
        yield store
        store.close_sync()


async def test_a_role_whose_transactions_are_serializable_loses_nothing(serializable: PostgresStore) -> None:
    await churn(serializable)


def test_a_statement_that_cannot_be_serialized_is_sent_again(
    serializable: PostgresStore, own_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[str | None] = []
    pause = RetrySchedule.pause

    def recording(schedule: RetrySchedule, operation: Operation[object], error: BaseException) -> float | None:
        met.append(sqlstate(error))
        return pause(schedule, operation, error)

    monkeypatch.setattr(RetrySchedule, "pause", recording)
    direct = PostgresStore(own_server.address(notify="off"))
    job = new_job(id=new_id())
    tx = direct.begin_sync()
    tx.perform(Start((job,)))
    with ThreadPoolExecutor(1) as pool, own_server.connect() as connection:
        starting = pool.submit(serializable.perform_sync, Start((job,)))
        wait_until_blocked(connection, starting.done)
        tx.commit()

        (started,) = starting.result(60)
    direct.close_sync()

    assert met == ["40001"]
    assert started.deduplicated


def test_a_settlement_that_waited_needs_no_second_try(serializable: PostgresStore, own_server: Postgres) -> None:
    direct = PostgresStore(own_server.address(notify="off"))
    job = new_job()
    serializable.perform_sync(Start((job,)))
    (held,) = serializable.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
    tx = direct.begin_sync()
    tx.perform(CancelChains((job.id,)))
    with ThreadPoolExecutor(1) as pool, own_server.connect() as connection:
        settling = pool.submit(serializable.perform_sync, Settle((completed(held),)))
        wait_until_blocked(connection, settling.done)
        tx.commit()

        (settled,) = settling.result(60)
    direct.close_sync()

    assert settled.lost == "cancelled"


def test_a_pooler_that_ignores_listen_is_detected_and_logged(
    server: Postgres, store: PostgresStore, port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listen_check, "TIMEOUT", 0.5)
    caplog.set_level(logging.WARNING, "holdfast")
    listening = PostgresStore(server.tcp_address(port=port, schema=store.schema))

    listening.open_sync()

    try:
        assert not listening.wakeups.healthy
        assert "polling" in caplog.text
    finally:
        listening.close_sync()


def test_the_doctor_reports_that_listen_is_ignored(
    server: Postgres, store: PostgresStore, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen_check, "TIMEOUT", 0.5)

    pooled, direct = (
        CliRunner().invoke(app, ["doctor", "--store", address], env={"COLUMNS": "500"}).stdout
        for address in (server.tcp_address(port=port, schema=store.schema), server.address(schema=store.schema))
    )

    assert "a pooler in transaction mode ignores LISTEN; workers poll every second" in pooled
    assert "they arrive" in direct
