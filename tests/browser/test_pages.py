"""Every page: policy, accessibility, size, phone, without scripts, in light and dark."""

# Playwright and axe do not type everything that they export.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Response, expect

from holdfast import Attempt, ChainFailed, Fail, Jobs, Limit, Queue
from holdfast.testing import drain
from holdfast.worker import Worker
from tests.browser.visitor import PAGES
from tests.waiting import until

MOST_BYTES = 150_000

jobs = Jobs()


@jobs.job
async def charge(order: int, note: str = "") -> None:
    raise Fail(f"the card of order {order} is declined {note}")


@jobs.job(limits=[Limit("gpu", 1), Limit("customer", 2, by="customer")])
async def render(customer: str) -> str:
    return customer


@jobs.job
async def fan_out(attempt: Attempt) -> int:
    async with attempt.complete() as done:
        for customer in ("ann", "ben", HOSTILE):
            await done.start(render.bind(customer=customer), delay=1000)
        return done.output(3)


HOSTILE = "<img src=x onerror=alert(1)>\u202e"


async def test_every_page_is_safe_accessible_and_small(visit: Any) -> None:
    visitor = await visit(jobs, color_scheme="light", reduced_motion="reduce")
    client = visitor.client
    charges = [charge.bind(order, HOSTILE).options(key=f"order-{order} {HOSTILE}") for order in range(3)]
    failed, *_ = await client.start_many(charges)
    done = await client.start(render.bind(customer="ann"))
    async with Worker(client):
        await client.wait(done, timeout=60)
        with pytest.raises(ChainFailed):
            await client.wait(failed, timeout=60)
        await client.start_many([render.bind(customer=HOSTILE).options(delay=1000) for _ in range(3)])
        await client.schedule("nightly", render.bind(customer="ann"), cron="30 2 * * *", tz="Europe/Paris")
        await client.schedule("often", render.bind(customer="ben"), every=timedelta(minutes=5))
        queue: Queue[Any, Any] = Queue("emails", store=client.store)
        async with queue:
            await queue.enqueue(HOSTILE, {"to": HOSTILE})
        started = await client.start(fan_out.bind())
        await client.wait(started, timeout=60)
        side, *_ = await client.started(started.id)
        blocked = await client.start(render.bind(customer="ann"), after=[started, side])
        paths = [
            *PAGES,
            f"/chains/{failed.id}",
            f"/chains/{done.id}",
            f"/chains/{started.id}",
            f"/chains/{blocked.id}",
            "/schedules/one?name=nightly",
            "/queues/one?name=emails",
        ]
        dialogs: list[Any] = []
        page = visitor.page
        page.on("dialog", lambda dialog: dialogs.append(dialog))
        # Colours differ between light and dark, widths between a large screen and a phone; the rest is the same.
        for scheme, width, rules in (("light", 1280, ()), ("dark", 360, ("color-contrast",))):
            await page.emulate_media(color_scheme=scheme)
            await page.set_viewport_size({"width": width, "height": 800})
            for path in paths:
                await visitor.open(path)
                assert await visitor.serious(*rules) == [], (path, scheme)
                overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert overflow <= 0, (path, width)
        assert dialogs == []
        weights = {path: await _weight(visitor, path) for path in ("/", "/jobs", f"/chains/{failed.id}")}
        assert max(weights.values()) < MOST_BYTES, weights


async def test_pages_and_changes_work_without_scripts(visit: Any) -> None:
    visitor = await visit(jobs, java_script_enabled=False)
    await visitor.client.start(charge.bind(1))
    await drain(visitor.client, types=["charge"])
    page = await visitor.open("/errors")
    await page.get_by_role("link", name="Retry this group").click()
    await page.get_by_role("button", name="Retry 1 job").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Retry 1 job")
    for path in PAGES:
        await visitor.open(path)


async def test_times_are_those_of_the_zone_of_the_viewer(visit: Any) -> None:
    """Relative, with the exact time on hover; also after a live update."""
    visitor = await visit(jobs, timezone_id="Asia/Tokyo", locale="en-GB")
    await visitor.client.start(render.bind(customer="ann"), delay=10_000)
    page = await visitor.open("/jobs?q=status:scheduled")
    times = page.locator("tbody time")

    await expect(times.first).to_have_text("in 2 h")
    await visitor.client.start(render.bind(customer="ben"), delay=10_000)
    await expect(page.locator("tbody tr")).to_have_count(2)

    for each in await times.all():
        moment = datetime.fromisoformat(await each.get_attribute("datetime") or "").astimezone(ZoneInfo("Asia/Tokyo"))
        expected = f"{moment.day} {moment:%b %Y}, {moment:%H:%M:%S} GMT+9"
        await expect(each).to_have_attribute("title", expected)


async def test_nothing_moves_on_any_page(visit: Any) -> None:
    """So there is nothing to reduce for viewers who asked for reduced motion. Rules of vendored files count too."""
    visitor = await visit(jobs, reduced_motion="reduce")
    for path in PAGES:
        page = await visitor.open(path)
        assert await page.evaluate(_MOVING) == [], path


_MOVING = """() => [...document.querySelectorAll("*")].filter((each) => {
    const style = getComputedStyle(each);
    return style.animationName !== "none" || style.transitionDuration.split(", ").some((time) => parseFloat(time) > 0)
        || style.scrollBehavior === "smooth";
}).map((each) => each.outerHTML.slice(0, 100))"""


async def test_a_hidden_tab_closes_its_connection_and_a_shown_one_reads_the_page_again(visit: Any) -> None:
    visitor = await visit(jobs)
    page = visitor.page
    await page.add_init_script(
        "window.sources = []; const Real = EventSource;"
        "window.EventSource = class extends Real { constructor(url) { super(url); window.sources.push(this); } };"
    )
    await visitor.open("/jobs")
    # Not `wait_for_function`: it uses eval in the page, which the policy of the dashboard forbids.
    await until(lambda: page.evaluate("sources.length === 1 && sources[0].readyState === 1"))

    await page.evaluate(_VISIBILITY, True)
    assert await page.evaluate("sources[0].readyState") == 2
    await visitor.client.start(charge.bind(7), key="order-7")
    assert await page.get_by_text("order-7").count() == 0
    await page.evaluate(_VISIBILITY, False)
    await expect(page.get_by_text("order-7")).to_be_visible()
    assert await page.evaluate("sources.length") == 2


_VISIBILITY = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


async def _weight(visitor: Any, path: str) -> int:
    """Bytes of a page and of everything that it loads, as received, without a cache."""
    received: list[Response] = []
    context = await visitor.page.context.browser.new_context()
    page = await context.new_page()
    page.on("response", lambda response: received.append(response))
    await page.goto(visitor.url + path, wait_until="load")
    total = 0
    for response in received:
        if not response.url.endswith("/live") and "/live?" not in response.url:
            await response.finished()
            total += (await response.request.sizes())["responseBodySize"]
    await context.close()
    return total
