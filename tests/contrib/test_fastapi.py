"""FastAPI: the lifespan, starts in the session of a request, durable background tasks, and the routes of a job type."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import Depends, FastAPI, HTTPException
from httpx import ASGITransport, AsyncClient
from litestar import Litestar, asgi, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from starlette.applications import Starlette

from holdfast import Attempt, Chain, ChainFailed, Client, Jobs, Worker
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


async def test_the_routes_of_a_job_type_start_read_follow_and_cancel() -> None:
    holdfast = Holdfast("memory://", jobs, worker=True)
    app = FastAPI(lifespan=holdfast.lifespan)
    app.include_router(holdfast.router(label, prefix="/labels"))
    app.include_router(holdfast.router(slow))
    app.include_router(holdfast.router(approval))
    app.include_router(holdfast.router(broken, errors=True), prefix="/admin")
    async with running(app) as client:
        started = await client.post("/labels", json={"number": 7, "to": {"city": "Paris"}})
        assert started.status_code == 202
        assert started.json()["status"] == "pending"
        where = started.headers["Location"]
        assert where == f"/labels/{started.json()['id']}"
        await holdfast.client.wait(started.json()["id"], timeout=60)
        status = (await client.get(where)).json()
        assert (status["status"], status["output"]) == ("completed", "label 7")
        assert "error" not in status

        refused = await client.post("/labels", json={"numbr": 7})
        assert refused.status_code == 422
        assert "numbr" in refused.json()["detail"]
        json_type = {"content-type": "application/json; charset=utf-8"}
        assert (await client.post("/labels", content=b"not json", headers=json_type)).status_code == 422
        assert (await client.post("/labels", content=b'{"number": 7}')).status_code == 415  # a form of another site
        assert (await client.post("/labels", content=b" " * 2**21, headers=json_type)).status_code == 413
        assert (await client.get("/labels/unknown")).status_code == 404
        assert (await client.get(where.replace("labels", "slow"))).status_code == 404

        where = (await client.post("/slow", json={"seconds": 0.1})).headers["Location"]
        followed = await client.get(f"{where}/events")
        assert followed.headers["content-type"].startswith("text/event-stream")
        messages = [
            dict(line.split(": ", 1) for line in each.splitlines()) for each in followed.text.split("\n\n")[:-1]
        ]
        kinds = [message["event"] for message in messages]
        assert (kinds[0], kinds[-2:]) == ("status", ["completed", "status"])
        assert "progressed" in kinds
        assert json.loads(messages[-1]["data"])["output"] == "done"
        assert (await client.get(f"{where}/events")).text.count("event: ") == 1  # it has ended: only its status

        where = (await client.post("/approval", json={"number": 1})).headers["Location"]
        assert (await client.delete(where)).json()["status"] == "cancelled"
        assert (await client.delete(where)).status_code == 200
        assert (await client.delete("/approval/unknown")).status_code == 404
        assert (await client.get("/approval/unknown/events")).status_code == 404

        chain = await holdfast.client.start(broken.bind().options(max_attempts=1))
        with pytest.raises(ChainFailed):
            await holdfast.client.wait(chain, timeout=60)
        assert (await client.get(f"/admin/broken/{chain.id}")).json()["error"] == "RuntimeError: secret detail"

        document = (await client.get("/openapi.json")).json()
        body = document["paths"]["/labels"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body["required"] == ["number"]
        assert body["properties"]["to"]["anyOf"][0]["properties"]["city"]["type"] == "string"
        assert "404" not in document["paths"]["/labels"]["post"]["responses"]


async def test_starlette_uses_the_same_lifespan_and_routes() -> None:
    holdfast = Holdfast("memory://", jobs, worker=True)
    app = Starlette(routes=holdfast.routes(label), lifespan=holdfast.lifespan)
    async with app.router.lifespan_context(app), http(app) as client:
        started = await client.post("/label", json={"number": 1})
        assert started.status_code == 202
        assert "completed" in (await client.get(f"{started.headers['Location']}/events")).text


async def test_litestar_uses_the_lifespan_a_starter_and_the_mounted_routes(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    async def provide_session() -> AsyncGenerator[AsyncSession]:
        async with shop.sessions.begin() as session:
            yield session

    async def provide_starter(session: NamedDependency[AsyncSession]) -> Starter:
        return Starter(shop.holdfast.client, session)

    async def place(
        number: FromPath[int], session: NamedDependency[AsyncSession], starter: NamedDependency[Starter]
    ) -> str:
        await session.execute(text("insert into orders values (:number)"), {"number": number})
        chain: Chain[str] = await starter.start(label.bind(number))
        return chain.id

    mounted = shop.holdfast.mounted(label, prefix="/jobs/labels")
    routes = asgi("/jobs/labels", is_mount=True, copy_scope=True)(mounted)
    app = Litestar(
        [post("/orders/{number:int}")(place), routes],
        logging_config=None,  # Litestar would replace the logging of the process
        lifespan=[shop.holdfast.lifespan],
        dependencies={"session": Provide(provide_session), "starter": Provide(provide_starter)},
    )
    async with app.lifespan(), http(app) as client:
        placed = await client.post("/orders/5")
        assert placed.status_code == 201, placed.text
        assert await shop.numbers() == [5]
        started = await client.post("/jobs/labels", json={"number": 6})
        assert started.status_code == 202
        assert (await client.delete(started.headers["Location"])).json()["status"] == "cancelled"
        assert (await client.get(f"/jobs/labels/{placed.text}")).json()["status"] == "pending"
