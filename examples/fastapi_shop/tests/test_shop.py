"""The tests of the shop. They run the jobs with `drain`, so the application is started without a worker."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from uuid import uuid4

os.environ["SHOP_WORKER"] = "off"

import pytest_asyncio
from httpx import ASGITransport, AsyncClient
from shop import jobs
from shop.app import app, holdfast

from holdfast.testing import drain


@pytest_asyncio.fixture
async def http() -> AsyncGenerator[AsyncClient]:
    async with app.router.lifespan_context(app) as state:
        # The state of the lifespan is part of each request, as the server adds it.
        async def with_state(scope, receive, send):
            await app({**scope, "state": dict(state)}, receive, send)

        async with AsyncClient(transport=ASGITransport(with_state), base_url="http://shop") as client:
            yield client


async def place(http: AsyncClient, *, customer: str = "ada", cents: int = 1999) -> str:
    placed = await http.post("/orders", json={"customer": customer, "cents": cents})
    assert placed.status_code == 201
    return f"/orders/{placed.json()['number']}"


async def test_an_order_is_shipped(http: AsyncClient) -> None:
    order = await place(http)
    assert (await http.get(order)).json()["status"] == "placed"

    await drain(holdfast.client)

    assert (await http.get(order)).json()["status"] == "shipped"


async def test_a_refused_order_leaves_no_job(http: AsyncClient) -> None:
    before = (await holdfast.client.stats()).counts

    refused = await http.post("/orders", json={"customer": "ada", "cents": 0})

    assert refused.status_code == 422
    assert (await holdfast.client.stats()).counts == before


async def test_a_large_order_waits_for_an_approval(http: AsyncClient) -> None:
    order = await place(http, cents=500_00)
    assert (await http.post(f"{order}/approval")).status_code == 409  # not yet processed
    await drain(holdfast.client)
    assert (await http.get(order)).json()["status"] == "waits for approval"

    assert (await http.post(f"{order}/approval")).json()["status"] == "approved"
    assert (await http.post(f"{order}/approval")).status_code == 409  # one of two clicks wins
    await drain(holdfast.client)

    assert (await http.get(order)).json()["status"] == "shipped"


async def test_a_customer_gets_one_parcel_at_once(http: AsyncClient, monkeypatch) -> None:
    running: list[str] = []
    most: dict[str, int] = {}

    async def send_parcel(order: int, customer: str) -> str:
        running.append(customer)
        most[customer] = max(most.get(customer, 0), running.count(customer))
        await asyncio.sleep(0.02)
        running.remove(customer)
        return f"parcel {order}"

    monkeypatch.setattr(jobs, "send_parcel", send_parcel)
    customer = f"grace-{uuid4()}"
    orders = [await place(http, customer=customer) for _ in range(4)]

    await drain(holdfast.client, concurrency=8)

    assert most[customer] == 1
    assert [(await http.get(order)).json()["status"] for order in orders] == ["shipped"] * 4


async def test_the_report_of_the_night_counts_shipped_orders(http: AsyncClient) -> None:
    await place(http)
    await drain(holdfast.client)

    chain = await holdfast.client.fire("nightly-report")
    await drain(holdfast.client)

    assert await holdfast.client.wait(chain) >= 1
    assert (await http.get(f"/reports/{chain.id}")).json()["status"] == "completed"
