"""A worker process that stops inside a transaction of its attempt: ``python -m tests.stores.postgres.held_worker``.

Its arguments: the address of the store, the address for the engine of SQLAlchemy, and the lease in seconds. The first
attempt of a job prints a line in its transaction and then waits there. Later attempts return.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker

from holdfast import Attempt, Client, Jobs, Retry, SyncAttempt, Worker

jobs = Jobs()

AT_ONCE = Retry(initial=0, jitter=0, max_attempts=5)

engines: dict[str, str] = {}
"""The address of the application's engine."""


@jobs.job(retry=AT_ONCE)
async def complete(attempt: Attempt) -> int:
    async with attempt.complete() as done:
        await done.tx.execute("select 1")
        await _stop(attempt)
        return done.output(attempt.job.attempt)


@jobs.job(retry=AT_ONCE)
def complete_in_a_thread(attempt: SyncAttempt) -> int:
    with attempt.complete() as done:
        done.tx.execute("select 1")
        _stop_thread(attempt)
        return done.output(attempt.job.attempt)


@jobs.job(retry=AT_ONCE)
async def prepare(attempt: Attempt) -> int:
    async with attempt.prepare():
        await _stop(attempt)
    return attempt.job.attempt


@jobs.job(retry=AT_ONCE)
async def complete_after_an_atomic_prepare(attempt: Attempt) -> int:
    async with attempt.prepare("atomic") as tx:
        await tx.execute("select 1")
    async with attempt.complete() as done:
        await _stop(attempt)
        return done.output(attempt.job.attempt)


@jobs.job(retry=AT_ONCE)
async def complete_in_a_session(attempt: Attempt) -> int:
    if attempt.job.attempt > 1:
        return attempt.job.attempt
    engine = create_async_engine(engines["url"])
    async with attempt.complete(session=async_sessionmaker(engine)) as done:
        await done.tx.execute(text("select 1"))
        await _stop(attempt)
        return done.output(attempt.job.attempt)


@jobs.job(retry=AT_ONCE)
def complete_in_a_blocking_session(attempt: SyncAttempt) -> int:
    if attempt.job.attempt > 1:
        return attempt.job.attempt
    engine = create_engine(engines["url"].replace("asyncpg", "psycopg"))
    with attempt.complete(session=sessionmaker(engine)) as done:
        done.tx.execute(text("select 1"))
        _stop_thread(attempt)
        return done.output(attempt.job.attempt)


@jobs.job(retry=AT_ONCE)
async def complete_amid_a_statement(attempt: Attempt) -> int:
    """The server still executes a statement of the transaction when its client has disappeared."""
    async with attempt.complete() as done:
        if attempt.job.attempt == 1:
            _report()
            await done.tx.execute("select pg_sleep(600)")
        return done.output(attempt.job.attempt)


async def _stop(attempt: Attempt) -> None:
    if attempt.job.attempt == 1:
        _report()
        await asyncio.Event().wait()


def _stop_thread(attempt: SyncAttempt) -> None:
    if attempt.job.attempt == 1:
        _report()
        threading.Event().wait(600)


def _report() -> None:
    sys.stdout.write("inside\n")
    sys.stdout.flush()


async def main(store: str, engine: str, options: dict[str, Any]) -> None:
    engines["url"] = engine
    async with Client(store, jobs) as client:
        await Worker(client, **options).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], {"lease": float(sys.argv[3])}))
