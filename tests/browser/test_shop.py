"""The shop of the demo: a killed worker, an approval by click, and live updates without a reload."""

# Playwright and axe do not type everything that they export.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from playwright.async_api import expect

from holdfast import SyncClient
from holdfast.demo.jobs import jobs
from holdfast.demo.ledger import SCHEMA, open_shop
from holdfast.demo.shop import DemoChains, place_orders
from holdfast.demo.workers import DemoWorker
from tests.freezing import freeze
from tests.waiting import until

APPROVED = 31
"""An order that needs an approval."""


def place(store: str, file: Path) -> DemoChains:
    with SyncClient(store, jobs) as client, open_shop(file) as shop:
        shop.executescript(SCHEMA)
        started = place_orders(client, shop, customers=2)
    shop.close()
    return started


async def test_the_shop_with_a_killed_worker_and_an_approval(visit: Any, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shop.db"
    visitor = await visit(jobs, store)
    client, page = visitor.client, visitor.page
    workers = [DemoWorker(name, store, tmp_path) for name in ("keeper", "victim")]
    try:
        await until(lambda: _live(client, 2))
        await visitor.open("/workers")
        await expect(page.get_by_text("2 live workers in 2 processes")).to_be_visible()
        started = await asyncio.to_thread(place, store, tmp_path / "shop.db")
        held = await _killed_amid_jobs(client, workers[1])

        await visitor.open(f"/chains/{held.chain_id}")
        await page.evaluate("window.loaded = true")
        await expect(page.locator("#job .attempts .status.lost").first).to_be_visible()
        await expect(page.locator("#state .status.completed").first).to_be_visible()
        assert await page.evaluate("window.loaded"), "the page was loaded again"

        order = started.orders[APPROVED]
        await until(lambda: _waits(client, order.id))
        await visitor.open(f"/chains/{order.id}")
        await expect(page.locator("#state .explanation")).to_contain_text("outside")
        await page.get_by_label("Output as JSON").fill("931")
        await page.get_by_role("button", name="Complete").click()
        await expect(page.locator("#state .status.completed").first).to_be_visible()
        chain = await client.get(order.id)
        assert chain is not None
        assert chain.output == 931
        assert [(entry.user, entry.action) for entry in await client.audit(order.id)] == [("ada", "complete")]
    finally:
        for worker in workers:
            await asyncio.to_thread(worker.stop)


async def _live(client: Any, count: int) -> bool:
    return len(await client.workers()) == count


async def _killed_amid_jobs(client: Any, victim: DemoWorker) -> Any:
    """Kill a worker while it runs jobs, and return one of them. It is stopped first, so that none ends meanwhile."""
    while True:
        await until(lambda: _held(client))
        freeze(victim._process)  # pyright: ignore[reportPrivateUsage]
        if held := (await client.list_jobs(status="running", worker="victim")).items:
            victim.kill()
            return held[0]
        os.kill(victim.pid, signal.SIGCONT)


async def _held(client: Any) -> bool:
    return bool((await client.list_jobs(status="running", worker="victim")).items)


async def _waits(client: Any, id: str) -> bool:
    chain = await client.get(id)
    return bool(chain.job.type == "approve")
