"""Errors, limits, schedules, workers and queues: what the pages show, what they change, and for whom."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Client, Fail, Jobs, Limit, Order, Queue, Rate
from holdfast.core.ids import new_token
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import ClaimJobs, ReportWorker, TypeTerms
from holdfast.testing import drain
from holdfast.worker import Worker
from tests.dashboard.conftest import Browser, Open

jobs = Jobs()
ODD = "a/b?<script>alert(1)</script>"
HOSTILE = "<script>alert(1)</script>\u202e"


def hide(value: str, field: str) -> str:
    return f"hidden {field}"


@jobs.job(limits=[Limit("gpu", 1), Limit("per-customer", 2, by="customer")])
async def render(customer: str) -> str:
    return customer


@jobs.job(limits=[Rate("mails", 10, per=60), Order("account", by="user")])
async def mail(user: str) -> None: ...


@jobs.job
async def charge(order: int, note: str = "") -> None:
    raise Fail(f"the card of order {order} is declined {note}")


@jobs.job
async def report(region: str = "eu") -> str:
    return region


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with Client("memory://", jobs) as client:
        yield client


async def test_errors_are_grouped_with_a_chart_and_a_retry(client: Client, browser: Browser, browse: Open) -> None:
    await client.start_many([charge.bind(order) for order in range(3)])
    await client.start(charge.bind(1, note=HOSTILE))
    await drain(client)

    shown = await browser.text("/errors?period=hour")

    assert shown.count("Retry this group") == 2
    assert "the card of order N is declined" in shown
    assert "3 in this time, at most 3 per interval" in shown
    assert "<rect " in shown
    assert "<script>alert" not in shown
    assert "&lt;script&gt;" in shown
    assert "test_operating_pages.py:charge" in shown
    assert "Retry this group" not in await browse("read").text("/errors")
    assert "declined" not in await browse("read", types=["report"]).text("/errors")
    hidden = await browse("read", redact=hide).text("/errors?period=nonsense")
    assert "hidden error" in hidden
    assert "declined" not in hidden


async def test_limits_are_shown_and_changed(client: Client, browser: Browser, browse: Open) -> None:
    await client.start_many([render.bind(customer=name) for name in ("ann", "ann", HOSTILE)])
    await client.start(mail.bind(user="ben"))
    await drain(client, types=["report"])
    async with Worker(client, types=["report"]):
        pass  # writes the declared limits

    shown = await browser.text("/limits")

    assert "<script>alert" not in shown
    for text in ("gpu", "per-customer", "ann", "10 per 1 min", "one at a time, in the order of their start"):
        assert text in shown
    await browser.post("/limits/set", name="gpu", number="4")
    assert "changed by an operator" in await browser.text("/limits")
    await browser.post("/limits/set", name="per-customer", key="ann", number="0")
    await browser.post("/limits/reset", name="gpu")
    for name, number in (("gpu", "-1"), ("gpu", "x"), ("none", "1")):
        await browser.post("/limits/set", name=name, number=number)
        assert "notice bad" in await browser.text("/limits")
    numbers = {
        limit.name: (limit.number, {lane.key: lane.number for lane in limit.lanes}) for limit in await client.limits()
    }
    assert numbers["gpu"][0] == 1
    assert numbers["per-customer"][1]["ann"] == 0
    assert [(entry.user, entry.action, entry.target, entry.reason) for entry in await client.audit()] == [
        ("ada", "reset_limit", "gpu", "to the declared number"),
        ("ada", "set_limit", "per-customer", "to 0 for the key ann"),
        ("ada", "set_limit", "gpu", "to 4"),
    ]
    await browse("operate").post("/limits/set", status=403, name="gpu", number="4")
    some = browse("admin", types=["mail"])
    assert "gpu" not in await some.text("/limits")
    assert "mails" in await some.text("/limits")
    await some.post("/limits/set", status=403, name="gpu", number="4")


async def test_schedules_show_ticks_and_are_operated(client: Client, browser: Browser, browse: Open) -> None:
    await client.schedule("nightly", report.bind(), cron="30 2 * * *", tz="Europe/Paris")
    await client.schedule(ODD, report.bind("us"), every=timedelta(hours=1))
    operate = browse("operate", user="olga")

    shown = await browser.text("/schedules")
    assert "30 2 * * *" in shown
    assert "every 1 h" in shown
    assert "<script>alert" not in shown
    odd = next(link for link in _links(shown) if "a%2Fb" in link)
    assert "&lt;script&gt;" in await browser.text(odd)

    await operate.post("/schedules/pause", name="nightly", reason="a migration")
    assert "a migration" in await browser.text("/schedules/one?name=nightly")
    await operate.post("/schedules/resume", name="nightly")
    await operate.post("/schedules/fire", name="nightly")
    await operate.post("/schedules/backfill", status=403, name="nightly", since="2026-01-01", until="2026-01-03")
    await browser.post("/schedules/backfill", name="nightly", since="2026-01-01T00:00", until="2026-01-03T00:00")
    await browser.post("/schedules/backfill", name="nightly", since="yesterday", until="2026-01-03T00:00")
    page = await browser.text("/schedules/one?name=nightly")
    assert "is not a time" in page
    assert page.count("fired</span>") == 1
    assert page.count("no chain</span>") < 15, "ticks before the schedule was created are not shown"
    assert {chain.id for chain in (await client.list_chains()).items} >= {"schedule:nightly:2026-01-01T01:30:00Z"}
    assert [(entry.user, entry.action) for entry in await client.audit()] == [
        ("ada", "backfill"), ("olga", "fire"), ("olga", "resume_schedule"), ("olga", "pause_schedule"),
    ]  # fmt: skip

    await browser.post("/schedules/remove", name="nightly")
    assert [schedule.name for schedule in await client.schedules()] == [ODD]
    await browser.get("/schedules/one?name=nightly", status=404)
    others = browse("admin", types=["charge"])
    assert "a/b" not in await others.text("/schedules")
    await others.post("/schedules/fire", status=404, name=ODD)


async def test_workers_show_what_they_run_and_are_drained(client: Client, browser: Browser, browse: Open) -> None:
    await client.store.perform(ReportWorker(WorkerRecord("one", "server", 7, ("report", "charge"), 5)))
    await client.start_many([report.bind(), report.bind()])
    for worker in ("one", "gone"):
        terms = (TypeTerms("report", 60_000_000, 3),)
        await client.store.perform(ClaimJobs(terms, 1, worker, new_token()))

    shown = await browser.text("/workers")

    assert "1 live worker in 1 process" in shown
    assert "Not seen for 90 seconds" in shown
    assert "gone" in shown
    assert ">report</a>" in shown
    await browse("operate").post("/workers/drain", status=403, id="one")
    await browse("admin", types=["report"]).post("/workers/drain", status=403, id="one")
    assert "charge" not in await browse("admin", types=["report"]).text("/workers")
    await browser.post("/workers/drain", id="one")
    await browser.post("/workers/drain", id="unknown")
    assert "no live worker" in (await browser.text("/workers")).lower()
    assert "draining" in await browser.text("/workers")


async def test_queues_have_their_own_terms(client: Client, browser: Browser, browse: Open) -> None:
    queue: Queue[Any, Any] = Queue("emails", store=client.store, max_retries=1)
    await queue.start()
    await queue.enqueue("mail-1", {"to": "ann"})
    await queue.enqueue(HOSTILE, {"to": "ben"})

    shown = await browser.text("/queues")

    assert "emails" in shown
    one = await browser.text("/queues/one?name=emails")
    assert "mail-1" in one
    assert one.count(">queued</span>") == 2
    assert "<script>alert" not in one
    assert "mail-1" not in await browser.text("/queues/one?name=emails&state=failing")
    await browse("read").post("/queues/pause", status=403, name="emails")
    await browse("operate").post("/queues/pause", name="emails")
    assert "paused" in await browser.text("/queues")
    await browse("operate").post("/queues/resume", name="emails")
    assert "emails" not in await browse("read", types=["report"]).text("/queues")
    await browse("read", types=["report"]).get("/queues/one?name=emails", status=404)
    await browser.get("/queues/one?name=none", status=404)
    await queue.stop()


def _links(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'href="([^"]+)"', page)]
