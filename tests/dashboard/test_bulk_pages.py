"""Bulk actions on the dashboard: count, confirm, progress, cancellation, and who may do what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from holdfast import Bound, Client, Fail, Jobs, Status
from holdfast.bulk import bulk_jobs, start
from holdfast.client.references import listing_filter
from holdfast.testing import drain
from holdfast.worker import Worker
from tests.dashboard.conftest import Browser, Open

jobs = Jobs()


@jobs.job
async def charge(order: int) -> None:
    raise Fail(f"order {order}")


@jobs.job
async def report(number: int) -> int:
    return number


@jobs.job
async def first() -> int | Bound[int]:
    return middle.bind()


@jobs.job
async def middle() -> int | Bound[int]:
    return report.bind(1)


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with Client("memory://", jobs) as client:
        yield client


def _id(location: str) -> str:
    return parse_qs(urlsplit(location).query)["id"][0]


async def test_an_action_is_counted_confirmed_and_reported(client: Client, browser: Browser) -> None:
    await client.start_many([charge.bind(order) for order in range(12)])
    await drain(client)

    shown = await browser.text("/bulk/new?action=retry&q=type:charge")
    assert "<strong>12 jobs</strong>" in shown
    assert (await client.stats()).types["charge"].due == 0, "the question changes nothing"
    location = await browser.post("/bulk/start", action="retry", q="type:charge", reason="the bank is back")

    bulk = Client(client.store, bulk_jobs)
    report = await bulk.wait(_id(location), timeout=30)
    assert (report.done, report.skipped) == (12, 0)
    page = await browser.text(location)
    assert "12 of 12" in page
    assert "the bank is back" in page
    assert "Cancel this action" not in page
    assert "type:charge" in await browser.text("/bulk")
    entries = await client.audit()
    assert {(entry.user, entry.action) for entry in entries} == {("ada", "retry")}
    assert len(entries) == 12
    assert (await client.stats()).types["charge"].due == 12


async def test_an_action_is_cancelled_halfway(client: Client, browse: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process runs the action and waits in its third batch, until the action is cancelled on the page."""
    monkeypatch.setattr("holdfast.bulk.runner.BulkRunner.wake", lambda _: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    await client.start_many([report.bind(number).options(delay=1000) for number in range(40)])
    browser = browse("operate", user="olga")
    location = await browser.post("/bulk/start", action="cancel", q="status:scheduled")
    reached = asyncio.Event()

    async def wait_in_the_third(attempt: Any, call_next: Any) -> Any:
        if attempt.job.index == 2:
            reached.set()
            await asyncio.Event().wait()
        return await call_next()

    async with Worker(Client(client.store, bulk_jobs), middlewares=[wait_in_the_third]):
        await reached.wait()
        assert "10 of 40" in await browser.text(location)
        await browser.post("/bulk/cancel", id=_id(location))

    page = await browser.text(location)
    assert "Cancelled after 10 of 40" in page
    assert (await client.stats()).counts[Status.CANCELLED] == 11, "ten reports, and the job of the action"
    entries = await client.audit(_id(location))
    assert [(entry.user, entry.action) for entry in entries] == [("olga", "cancel")]


async def test_roles_and_types_are_enforced(client: Client, browse: Open) -> None:
    await client.start(report.bind(1), delay=1000)
    await client.start(charge.bind(1), delay=1000)
    reader, operator, limited = (
        browse("read"),
        browse("operate", user="olga"),
        browse("admin", user="ben", types=["report"]),
    )

    assert "This needs the role operate" in await reader.text("/bulk/new?action=cancel")
    await reader.post("/bulk/start", status=403, action="cancel", q="")
    await operator.post("/bulk/start", status=403, action="delete", q="status:pending")
    await operator.get("/bulk/new?action=explode", status=404)
    assert "<strong>1 job</strong>" in await limited.text("/bulk/new?action=cancel")
    assert "No job matches" in await limited.text("/bulk/new?action=cancel&q=type:charge")
    assert "is unknown" in await limited.text("/bulk/new?action=cancel&q=colour:red")
    assert "page of the chain" in await limited.text("/bulk/new?action=cancel&q=chain:x")

    own = await limited.post("/bulk/start", action="delete", q="status:pending")
    await Client(client.store, bulk_jobs).wait(_id(own), timeout=30)
    assert [chain.type for chain in (await client.list_chains(chain_type=["report", "charge"])).items] == ["charge"]
    assert "1 of 1" in await limited.text(own)
    await browse("read", user="other", types=["report"]).get(own, status=404)
    assert "No bulk action" in await browse("read", user="other", types=["report"]).text("/bulk")
    nothing = await limited.post("/bulk/start", action="delete", q="type:charge")
    assert nothing.startswith("/bulk/new")
    await browse("admin", read_only=True).post("/bulk/start", status=403, action="cancel", q="")
    await limited.get("/bulk/one?id=none", status=404)


async def test_a_cancelled_deletion_is_continued_by_administrators_only(
    client: Client, browser: Browser, browse: Open
) -> None:
    await client.start_many([report.bind(number) for number in range(12)])
    await drain(client)
    runner = Client(client.store, bulk_jobs)
    chosen = listing_filter(type=["report"])
    bulk = await start(runner, "delete", chosen, user="ada", query="type:report", reason=None, types=None)
    await client.cancel(bulk)

    await browse("operate").post("/change/retry", id=bulk.id, status=403)
    assert (await client.get(bulk)).status is Status.CANCELLED  # type: ignore[union-attr]
    await browser.post("/change/retry", id=bulk.id)
    await runner.wait(bulk.id, timeout=30)
    assert "report" not in (await client.stats()).types


async def test_a_chain_with_hidden_jobs_in_its_middle_is_not_deleted(client: Client, browse: Open) -> None:
    chain = await client.start(first.bind())
    await drain(client)
    browser = browse("admin", user="eve", types=["first", "report"])

    location = await browser.post("/bulk/start", action="delete", q="")
    result = await Client(client.store, bulk_jobs).wait(_id(location), timeout=30)

    assert (result.done, result.skipped) == (0, 1)
    assert await client.get(chain) is not None
