"""The routes of a job type: in FastAPI, in Starlette and mounted in Litestar."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from fastapi import FastAPI
from litestar import Litestar, asgi, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.applications import Starlette

from holdfast import Chain, ChainFailed
from holdfast.contrib.fastapi import Holdfast, Starter
from tests.contrib.fastapi_shop import Shop, approval, broken, http, jobs, label, running, slow


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
