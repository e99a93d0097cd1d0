"""Behind a pooler in transaction mode: nothing is left in a session, and LISTEN is known not to work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from holdfast.cli.app import app
from holdfast.operations import ClaimJobs, GetChains, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore, self_test
from holdfast.testing.builders import completed, new_job
from tests.servers.pgbouncer import find_pgbouncer, running_pgbouncer
from tests.servers.postgres import Postgres
from tests.stores.postgres.swapper import swapping_pooler


@pytest.fixture
def port(server: Postgres) -> Iterator[int]:
    """A real PgBouncer where there is one, else a proxy that swaps sessions between transactions."""
    program = find_pgbouncer()
    pooler = swapping_pooler(server.port) if program is None else running_pgbouncer(program, server)
    with pooler as port:
        yield port


@pytest.fixture
def pooled(server: Postgres, store: PostgresStore, port: int) -> Iterator[PostgresStore]:
    pooled = PostgresStore(server.tcp_address(port=port, schema=store.schema, notify="off"))
    pooled.open_sync()
    yield pooled
    pooled.close_sync()


async def test_every_session_may_change_hands_between_two_statements(pooled: PostgresStore) -> None:
    jobs = [new_job(key=f"key-{number % 7}", dedup="any") for number in range(60)]

    started = await asyncio.gather(*(pooled.perform(Start((job,))) for job in jobs))
    claims = await asyncio.gather(
        *(
            pooled.perform(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", f"token-{number}"))
            for number in range(9)
        )
    )
    held = [job for claim in claims for job in claim]
    await asyncio.gather(*(pooled.perform(Settle((completed(job),))) for job in held))

    assert sum(not each.deduplicated for (each,) in started) == 7
    assert len({job.id for job in held}) == len(held) == 7
    chains = await pooled.perform(GetChains(tuple(job.id for job in held)))
    assert all(chain is not None and chain.last.status.value == "completed" for chain in chains)
    await pooled.close()


def test_a_pooler_that_swallows_listen_is_noticed_and_said(
    server: Postgres, store: PostgresStore, port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(self_test, "PATIENCE", 0.5)
    caplog.set_level(logging.WARNING, "holdfast")
    listening = PostgresStore(server.tcp_address(port=port, schema=store.schema))

    listening.open_sync()

    try:
        assert not listening.wakeups.healthy
        assert "polling" in caplog.text
    finally:
        listening.close_sync()


def test_the_doctor_says_that_listen_is_swallowed(
    server: Postgres, store: PostgresStore, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "PATIENCE", 0.5)

    pooled, direct = (
        CliRunner().invoke(app, ["doctor", "--store", address], env={"COLUMNS": "500"}).stdout
        for address in (server.tcp_address(port=port, schema=store.schema), server.address(schema=store.schema))
    )

    assert "a pooler in transaction mode swallows LISTEN; workers poll every second" in pooled
    assert "they arrive" in direct
