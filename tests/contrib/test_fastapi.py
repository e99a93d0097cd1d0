"""FastAPI: the lifespan, starts in the session of a request, and durable background tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from holdfast import Client, Jobs, Worker
from holdfast.contrib.fastapi import DurableBackgroundTasks, Holdfast, Starter
from tests.contrib.fastapi_shop import Address, Shop, jobs, label, running


async def test_the_lifespan_drains_the_worker_before_the_database_closes() -> None:
    order: list[str] = []
    local = Jobs()

    @local.job
    async def write() -> None:
        order.append("begun")
        begun.set()
        await asyncio.sleep(0.2)
        order.append("ended")

    @asynccontextmanager
    async def database(app: Any) -> AsyncGenerator[dict[str, str]]:
        order.append("open")
        yield {"database": "open"}
        order.append("closed")

    begun = asyncio.Event()
    holdfast = Holdfast("memory://", local, worker=lambda client: Worker(client, concurrency=1), lifespan=database)
    with pytest.raises(RuntimeError, match="lifespan"):
        _ = holdfast.client

    async with holdfast.lifespan(None) as state:
        await holdfast.client.start(write.bind())
        await begun.wait()

    assert state == {"database": "open"}
    assert order == ["open", "begun", "ended", "closed"]
    async with holdfast.lifespan(None):  # again, with a new client
        assert isinstance(holdfast.client, Client)


async def test_a_start_commits_with_the_session_of_the_request(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    async with running(shop.app) as client:
        assert (await client.post("/orders/1")).status_code == 200
        assert (await client.post("/orders/2?fail=true")).status_code == 409

        assert await shop.numbers() == [1]
        async with shop.sessions() as session:
            assert (await session.scalars(text("select number from orders"))).all() == [1]
    with pytest.raises(TypeError, match="session"):
        Starter(Client("memory://", jobs), None)  # type: ignore[arg-type]


async def test_background_tasks_are_jobs_before_the_response_is_sent(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    async with running(shop.app) as client:
        await client.post("/tasks/1")
        await client.post("/tasks/2?fail=true")

        assert await shop.numbers() == [1]
        (chain,) = (await shop.holdfast.client.list_chains()).items
        assert chain.first_job.input == {"number": 1, "to": Address("Paris")}
    tasks: Any = DurableBackgroundTasks(Client("memory://", jobs))
    with pytest.raises(TypeError, match=r"@jobs\.job"):
        tasks.add_task(print, "text")
    with pytest.raises(TypeError, match="number"):
        tasks.add_task(label, "one")
    with pytest.raises(TypeError, match="already"):
        tasks.add_task(label.bind(1), 2)


async def test_background_tasks_of_a_session_share_its_fate(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(tmp_path)
    async with running(shop.app) as client:
        for number, how in ((10, "end"), (20, "savepoint"), (30, "rollback"), (40, "error"), (50, "commit")):
            await client.post(f"/joined/{number}?how={how}")

        assert await shop.numbers() == [10, 20, 21, 50, 51]
        assert not caplog.messages
        async with shop.sessions() as session, DurableBackgroundTasks(shop.holdfast.client, session) as tasks:
            await session.execute(text("select 1"))
            tasks.add_task(label, 60)
        assert await shop.numbers() == [10, 20, 21, 50, 51]
        assert caplog.messages == ["1 jobs were not started: their session ended without a commit (label)"]
        async with shop.sessions() as session:
            with pytest.raises(TypeError, match="AsyncSession"):
                DurableBackgroundTasks(shop.holdfast.client, session.sync_session)
