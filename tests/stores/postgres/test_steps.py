"""Steps and messages meet other transactions: messages of applications, and jobs that another transaction locks."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast import Attempt, Client, Jobs, Worker
from holdfast.core.failure import write
from holdfast.core.record import Record
from holdfast.engine.operations import (
    ClaimJobs,
    Delete,
    GetMessages,
    GetSteps,
    Renew,
    SaveSteps,
    SendMessage,
    Settle,
    Settled,
    Start,
    TypeTerms,
)
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import checkpoint, new_job, receive_of, suspended
from tests.servers.postgres import Postgres
from tests.stores.postgres.app_connections import (
    alchemy_session,
    async_session_on_psycopg,
    asyncpg_connection,
    django_connection,
    psycopg_connection,
)
from tests.stores.postgres.waiting import wait_until_blocked

TERMS = (TypeTerms("resize", 60_000_000, 25),)


def claim(store: PostgresStore, limit: int = 1) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, limit, "worker", "token"))


def claimed(store: PostgresStore) -> Record:
    store.perform_sync(Start((new_job(),)))
    (job,) = claim(store)
    return job


def waiting(store: PostgresStore) -> Record:
    """A job that waits for the message `label`."""
    job = claimed(store)
    assert store.perform_sync(Settle((suspended(job, receive_of("label")),))) == [Settled()]
    return job


def send(job: Record, value: bytes = b"1") -> SendMessage:
    return SendMessage(job.chain_id, "label", value)


@pytest.mark.parametrize(
    "kind", [psycopg_connection, alchemy_session, django_connection], ids=lambda kind: kind.__name__
)
def test_a_message_wakes_the_job_when_the_application_commits_it(kind: Any, store: PostgresStore) -> None:
    job = waiting(store)
    with kind("READ COMMITTED") as opened:
        assert store.join_sync(opened.tx).perform(send(job))
        assert claim(store) == []
        opened.rollback()
    assert claim(store) == []
    assert store.perform_sync(GetMessages(((job.id, "label"),))) == [None]

    with kind("READ COMMITTED") as opened:
        assert store.join_sync(opened.tx).perform(send(job, b"2"))
        assert not store.join_sync(opened.tx).perform(send(job, b"3"))
        opened.commit()

    assert [each.id for each in claim(store)] == [job.id]
    assert store.perform_sync(GetMessages(((job.id, "label"),))) == [b"2"]


@pytest.mark.parametrize("kind", [asyncpg_connection, async_session_on_psycopg], ids=lambda kind: kind.__name__)
async def test_the_same_with_async_connections(kind: Any, store: PostgresStore) -> None:
    job = waiting(store)

    async with kind("READ COMMITTED") as opened:
        assert await store.join(opened.tx).perform(send(job))
        await opened.commit()

    assert [each.id for each in claim(store)] == [job.id]


def test_a_suspension_waits_for_a_message_that_is_not_committed_while_renewals_continue(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    with ThreadPoolExecutor(1) as pool:
        with psycopg_connection("READ COMMITTED") as opened:
            assert store.join_sync(opened.tx).perform(send(job))
            assert store.perform_sync(Renew(((job.claim, 60_000_000),))) == {}
            assert store.perform_sync(SaveSteps((checkpoint(job, "charge"),))) == [None]
            settling = pool.submit(store.perform_sync, Settle((suspended(job, receive_of("label")),)))
            wait_until_blocked(connection, settling.done)
            opened.commit()

        assert settling.result(60) == [Settled()]
    assert [each.id for each in claim(store)] == [job.id]


def test_a_job_that_was_suspended_since_the_snapshot_is_a_serialization_failure(store: PostgresStore) -> None:
    job = claimed(store)
    with psycopg_connection("REPEATABLE READ") as opened:
        opened.execute("select 1")
        assert store.perform_sync(Settle((suspended(job, receive_of("label")),))) == [Settled()]

        with pytest.raises(Exception, match="could not serialize access"):
            store.join_sync(opened.tx).perform(send(job))
        opened.rollback()

    assert store.perform_sync(send(job))
    assert [each.id for each in claim(store)] == [job.id]


def test_a_locked_job_does_not_delay_the_steps_of_others(
    store: PostgresStore, server: Postgres, connection: psycopg.Connection
) -> None:
    store.perform_sync(Start((new_job(), new_job(), new_job())))
    locked, gone, free = claim(store, 3)
    lock = f'select from "{store.schema}".job where id = any(%s) for update'.encode()
    with ThreadPoolExecutor(1) as pool, server.connect() as other:
        with other.transaction():
            other.execute(lock, [[locked.id, gone.id]])
            steps = SaveSteps(tuple(checkpoint(job, "charge") for job in (locked, gone, free)))
            saving = pool.submit(store.perform_sync, steps)
            wait_until_blocked(connection, saving.done)
            assert [len(rows) for rows in store.perform_sync(GetSteps((locked.id, free.id)))] == [0, 1]
            store.join_sync(other).perform(Delete((gone.id,)))

        assert saving.result(60) == [None, "not_found", None]
    assert [len(rows) for rows in store.perform_sync(GetSteps((locked.id, gone.id)))] == [1, 0]


async def test_a_locked_job_does_not_delay_the_next_steps_of_its_worker(
    store: PostgresStore, server: Postgres, connection: psycopg.Connection
) -> None:
    jobs, begun, go = Jobs(), asyncio.Event(), {number: asyncio.Event() for number in (1, 2)}

    @jobs.job
    async def work(attempt: Attempt, number: int) -> int:
        if number == 1:
            begun.set()
        await go[number].wait()
        return await attempt.step("charge", abs, number)

    async with Client(store, jobs) as client, Worker(client, concurrency=2):
        locked, free = [await client.start(work.bind(number)) for number in (1, 2)]
        await begun.wait()
        with server.connect() as other, other.transaction():
            other.execute(f'select from "{store.schema}".job where id = %s for update'.encode(), [locked.id])
            go[1].set()
            await asyncio.to_thread(wait_until_blocked, connection, lambda: False)
            go[2].set()

            assert await client.wait(free, timeout=60) == 2
            assert await client.steps(locked) == []

        assert await client.wait(locked, timeout=60) == 1


def test_a_timeout_waits_for_a_message_that_is_being_sent(store: PostgresStore, connection: psycopg.Connection) -> None:
    job = claimed(store)
    timeout = checkpoint(job, "label", kind="receive", result=None, error=write("MessageTimeout", "late"))
    tx = store.begin_sync()
    assert tx.perform(send(job))

    with ThreadPoolExecutor(1) as pool:
        saved = pool.submit(store.perform_sync, SaveSteps((timeout,)))
        wait_until_blocked(connection, saved.done)
        tx.commit()

        assert saved.result() == [None]
    assert store.perform_sync(GetSteps((job.id,))) == [[]]


def test_a_message_waits_for_a_timeout_that_is_being_stored(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    timeout = checkpoint(job, "label", kind="receive", result=None, error=write("MessageTimeout", "late"))
    tx = store.begin_sync()
    assert tx.perform(SaveSteps((timeout,))) == [None]

    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(store.perform_sync, send(job))
        wait_until_blocked(connection, sent.done)
        tx.commit()

        assert sent.result()
    ((row,),) = store.perform_sync(GetSteps((job.id,)))
    assert row.final
