"""An application of FastAPI whose requests start jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, HTTPException
from httpx import ASGITransport, AsyncClient
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

from holdfast import Attempt, Jobs
from holdfast.contrib.fastapi import DurableBackgroundTasks, Holdfast, Starter

jobs = Jobs()


@dataclass
class Address:
    city: str
    street: str = ""


@jobs.job
async def label(number: int, to: Address | None = None) -> str:
    return f"label {number}"


@jobs.declare
async def approval(number: int) -> str: ...  # type: ignore[empty-body]


@jobs.job(name="slow")
async def slow(attempt: Attempt, seconds: float) -> str:
    await attempt.progress(0.5, "half")
    await asyncio.sleep(seconds)
    return "done"


@jobs.job
async def broken() -> None:
    raise RuntimeError("secret detail")


def http(app: Any) -> AsyncClient:
    return AsyncClient(transport=ASGITransport(app), base_url="http://shop")


@asynccontextmanager
async def running(app: FastAPI) -> AsyncGenerator[AsyncClient]:
    async with app.router.lifespan_context(app), http(app) as client:
        yield client


class Shop:
    """An application with a table of orders and the store in one SQLite file."""

    def __init__(self, folder: Path) -> None:
        self.address = f"sqlite:///{folder}/shop.db"
        self.engine = create_async_engine(f"sqlite+aiosqlite:///{folder}/shop.db")
        self.sessions = async_sessionmaker(self.engine)
        self.holdfast = Holdfast(self.address, jobs, migrate=True, lifespan=self.database)
        self.app = FastAPI(lifespan=self.holdfast.lifespan)
        session = Depends(self.session, scope="function")
        own_starter = self.holdfast.starter(session)
        own_tasks = self.holdfast.background_tasks()
        joined_tasks = self.holdfast.background_tasks(session)

        @self.app.post("/orders/{number}")
        async def place(
            number: int, fail: bool = False, session: AsyncSession = session, starter: Starter = own_starter
        ) -> str:
            await session.execute(text("insert into orders values (:number)"), {"number": number})
            chain = await starter.start(label.bind(number), key=f"order-{number}")
            if fail:
                raise HTTPException(409)
            return str(chain.id)

        @self.app.post("/tasks/{number}")
        async def tasks(number: int, fail: bool = False, tasks: DurableBackgroundTasks = own_tasks) -> None:
            tasks.add_task(label, number, to=Address("Paris"))
            if fail:
                raise HTTPException(409)

        @self.app.post("/joined/{number}")
        async def joined(
            number: int, how: str, session: AsyncSession = session, tasks: DurableBackgroundTasks = joined_tasks
        ) -> None:
            await session.execute(text("insert into orders values (:number)"), {"number": number})
            tasks.add_task(label.bind(number).options(delay=60))
            if how == "savepoint":
                async with session.begin_nested() as nested:
                    tasks.add_task(label, -number)
                    await nested.rollback()
                async with session.begin_nested():
                    tasks.add_task(label, number + 1)
            if how == "rollback":
                await session.rollback()
            if how == "commit":
                await session.commit()
                tasks.add_task(label, number + 1)
                await session.execute(text("select 1"))
            if how == "error":
                raise HTTPException(409)

    @asynccontextmanager
    async def database(self, app: Any) -> AsyncGenerator[None]:
        async with self.engine.begin() as connection:
            await connection.execute(text("create table if not exists orders (number integer primary key)"))
        yield
        await self.engine.dispose()

    async def session(self) -> AsyncGenerator[AsyncSession]:
        async with self.sessions() as session:
            yield session
            await session.commit()

    async def numbers(self) -> list[int]:
        found = await self.holdfast.client.list_chains(type=label)
        return sorted(chain.first_job.input["number"] for chain in found.items)
