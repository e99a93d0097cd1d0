"""Pictures of the dashboard for docs/ and the README, in light and dark: `make screenshots`.

A shop on SQLite whose clock is moved through the last hour: orders, declined cards, a bill that waits, running exports.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser, async_playwright
from starlette.requests import Request

from holdfast import Attempt, Bound, Client, Jobs, Limit, Retry
from holdfast.cli.dashboard_server import serve
from holdfast.dashboard import Access, dashboard
from holdfast.testing import ManualClock, drain
from holdfast.worker import Worker
from tests.browser.installed import BROWSER

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SIZE = {"width": 1120, "height": 700}
MINUTES = 60
SETTLED = 2.5
"""Seconds that a page has to load its charts and its first live update."""

jobs = Jobs()


class CardDeclined(Exception):
    """The bank declined the card."""


class Timeout(Exception):
    """The carrier did not answer."""


@jobs.job(retry=Retry(initial=0.05, jitter=0, max_attempts=2))
async def charge(order: int, amount: int) -> str | Bound[str]:
    await asyncio.sleep(0.01)
    if order % 9 == 4:
        raise CardDeclined(f"order {order}: the card was declined")
    return approve.bind(order=order, amount=amount) if amount > 900 else ship.bind(order=order)


@jobs.declare
async def approve(order: int, amount: int) -> str:
    raise NotImplementedError


@jobs.job(retry=Retry(initial=0.05, jitter=0, max_attempts=3), limits=[Limit("carrier", 4, by="zone")])
async def ship(order: int, zone: str = "eu") -> str:
    await asyncio.sleep(0.02)
    if order % 13 == 5:
        raise Timeout("the carrier did not answer in 30 s")
    return f"parcel {order}"


@jobs.job
async def bill(attempt: Attempt, customer: int) -> int:
    return len(attempt.blockers)


@jobs.job
async def export(attempt: Attempt, region: str) -> str:
    await attempt.progress(0.42, "reading orders")
    await asyncio.sleep(3600)
    return region


async def main() -> int:
    if BROWSER is None:
        sys.stderr.write("no browser: make browser\n")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        await photograph(f"sqlite:///{folder}/jobs.db", BROWSER)
    return 0


async def photograph(store: str, executable: str) -> None:
    async with Client(store, jobs, migrate=True) as client, async_playwright() as playwright:
        pages = await fill(client)
        client.store.clock = None
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        app = dashboard(client, authorize)
        async with serve(app, listening), Worker(client, concurrency=8, worker_id="worker-1", grace=0):
            for scheme in ("light", "dark"):
                for name, path in pages.items():
                    url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
                    await picture(browser, url, name, scheme)
        await browser.close()


def authorize(request: Request) -> Access:
    """An administrator. On most pages one of named types, who does not see what `doctor` finds on this machine."""
    return Access("admin", user="ada", types=None if "/chains/" in request.url.path else list(jobs))


async def fill(client: Client) -> dict[str, str]:
    """Sixty minutes of work. Returns the pages to show."""
    clock = ManualClock(int((time.time() - MINUTES * 60) * 1_000_000))
    client.store.clock = clock
    await client.schedule("nightly-report", export.bind("eu"), cron="30 2 * * *", tz="Europe/Paris")
    await client.schedule("sync-stock", bill.bind(1), every=timedelta(minutes=15))
    order = 0
    for minute in range(MINUTES):
        count = 6 + minute * 7 % 11
        await client.start_many([charge.bind(each, amount=40) for each in range(order, order + count)])
        order += count
        await drain(client, concurrency=8, types=["charge", "ship", "bill"])
        clock.advance(60)
    last = [charge.bind(each, amount=950 if each % 5 == 2 else 40) for each in range(order, order + 8)]
    orders = await client.start_many(last)
    waiting = await client.start(bill.bind(7), after=orders)
    await drain(client, concurrency=8, types=["charge", "ship", "bill"])
    await client.start_many([export.bind(region) for region in ("eu", "us", "asia")])
    await client.start_many([ship.bind(each, zone="us").options(delay=3600) for each in range(30)])
    return {
        "overview": "/",
        "jobs": "/jobs?q=status:failed",
        "chain": f"/chains/{waiting.id}",
        "errors": "/errors?period=hour",
    }


async def picture(browser: Browser, url: str, name: str, scheme: str) -> None:
    options: Any = {"viewport": SIZE, "color_scheme": scheme, "reduced_motion": "reduce"}
    context = await browser.new_context(**options)
    page = await context.new_page()
    await page.goto(url)
    await asyncio.sleep(SETTLED)
    await page.screenshot(path=FOLDER / f"{name}-{scheme}.jpg", type="jpeg", quality=65)
    await context.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
