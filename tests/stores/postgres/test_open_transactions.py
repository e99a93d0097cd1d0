"""No session stays idle in transaction after an attempt has ended, whatever the handler raised."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from holdfast import Attempt, Client, Jobs, SyncAttempt
from holdfast.stores.postgres import PostgresStore
from holdfast.testing import drain


def in_transaction(connection: psycopg.Connection, session: int) -> bool:
    """Whether this session is in a transaction."""
    row = connection.execute("select xact_start from pg_stat_activity where pid = %s", [session]).fetchone()
    return row is not None and row[0] is not None


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("kind", ["async", "thrown", "plain"])
async def test_a_session_does_not_stay_idle_in_transaction(
    store: PostgresStore, connection: psycopg.Connection, kind: str, error: type[BaseException]
) -> None:
    jobs = Jobs()
    sessions: list[int] = []

    @jobs.job
    async def interrupt(attempt: Attempt) -> None:
        async with attempt.complete() as done:
            sessions.append(done.tx.info.backend_pid)
            assert in_transaction(connection, sessions[0])
            if kind == "async":
                raise error()
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(future.set_exception, error())
            await future

    @jobs.job
    def interrupt_plain(attempt: SyncAttempt) -> None:
        with attempt.complete() as done:
            sessions.append(done.tx.info.backend_pid)
            assert in_transaction(connection, sessions[0])
            raise error()

    client = Client(store, jobs)
    chain = await client.start((interrupt_plain if kind == "plain" else interrupt).bind(), max_attempts=1)
    await drain(client)

    assert not in_transaction(connection, sessions[0])
    job = await client.get_job(chain.id)
    assert job is not None
    assert (job.status, job.attempt) == ("failed", 1)
    assert error.__name__ in str(job.error)
