"""Procrastinate on PostgreSQL: short heartbeats, and the periodic retry of stalled jobs that its guide advises."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import psycopg

from torture.peers.effects import mark

_library: Any = import_module("procrastinate")
HEARTBEAT = 1.0
STALLED = 5.0


def application(url: str) -> Any:
    app = _library.App(connector=_library.PsycopgConnector(conninfo=url))
    retry = _library.RetryStrategy(max_attempts=50, wait=1)

    async def plod(number: int) -> None:
        await mark(url, number)

    async def retry_stalled(context: Any, timestamp: int) -> None:
        stalled = await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED)
        for job in stalled:
            await app.job_manager.retry_job(job)

    app.task(name="plod", retry=retry)(plod)
    often = app.periodic(cron="* * * * * */2")
    often(app.task(name="retry_stalled", queueing_lock="retry_stalled", pass_context=True)(retry_stalled))
    return app


async def setup(url: str) -> None:
    app = application(url)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def enqueue(url: str, numbers: Iterable[int], pause: float) -> list[int]:
    accepted: list[int] = []
    app = application(url)
    async with app.open_async():
        for number in numbers:
            try:
                await app.configure_task("plod").defer_async(number=number)
                accepted.append(number)
            except Exception:
                await asyncio.sleep(0.2)
            await asyncio.sleep(pause)
    return accepted


async def work(url: str) -> None:
    app = application(url)
    async with app.open_async():
        await app.run_worker_async(
            concurrency=8,
            fetch_job_polling_interval=1,
            update_heartbeat_interval=HEARTBEAT,
            stalled_worker_timeout=STALLED,
        )


async def unfinished(url: str) -> int:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(
            "select count(*) from procrastinate_jobs where task_name = 'plod' and status in ('todo', 'doing')"
        )
        row = await cursor.fetchone()
        return int(row[0]) if row else 0
