"""Changes by click and by keyboard: an error group, a bulk action that is cancelled, and refused requests."""

# Playwright and axe do not type everything that they export.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
from typing import Any

import httpx
from playwright.async_api import expect

from holdfast import Client, Fail, Jobs, Status
from holdfast.bulk import bulk_jobs
from holdfast.testing import drain
from holdfast.worker import Worker

FOCUS = """selector => {
    const element = document.activeElement;
    const outlined = element == document.body || getComputedStyle(element).outlineStyle != "none";
    return [element.matches(selector), outlined, element.textContent];
}"""
jobs = Jobs()


@jobs.job
async def charge(order: int) -> None:
    raise Fail(f"the card of order {order} is declined")


@jobs.job
async def report(number: int) -> int:
    return number


async def test_an_error_group_is_retried(visit: Any) -> None:
    visitor = await visit(jobs)
    await visitor.client.start_many([charge.bind(order) for order in range(12)])
    await drain(visitor.client)
    page = await visitor.open("/errors")

    await page.get_by_role("link", name="Retry this group").click()
    await expect(page.locator("#affected")).to_contain_text("12 jobs")
    await page.get_by_label("Reason").fill("the bank is back")
    await page.get_by_role("button", name="Retry 12 jobs").click()

    await expect(page.locator("#progress .status.completed")).to_be_visible()
    await expect(page.locator("#report")).to_contain_text("12")
    assert (await visitor.client.stats()).types["charge"].due == 12


async def test_a_bulk_action_is_cancelled_halfway(visit: Any, monkeypatch: Any) -> None:
    """The fourth batch waits until the viewer has cancelled the action. The progress comes without a reload."""
    monkeypatch.setattr("holdfast.bulk.runner.BulkRunner.wake", lambda _: None)
    monkeypatch.setattr("holdfast.bulk.runner.BulkRunner.continue_left_over", lambda _: None)
    visitor = await visit(jobs)
    await visitor.client.start_many([report.bind(number).options(delay=1000) for number in range(40)])
    page = await visitor.open("/jobs?q=status:scheduled")
    await page.get_by_role("link", name="Cancel", exact=True).click()
    await page.get_by_role("button", name="Cancel 40 jobs").click()
    await expect(page.locator("#progress")).to_contain_text("0 of 40")
    cancelled = asyncio.Event()

    async def wait_in_the_fourth(attempt: Any, call_next: Any) -> Any:
        if attempt.job.index == 3:
            await cancelled.wait()
        return await call_next()

    async with Worker(Client(visitor.client.store, bulk_jobs), middlewares=[wait_in_the_fourth]):
        await expect(page.locator("#progress")).to_contain_text("15 of 40")
        await page.get_by_role("button", name="Cancel this action").click()
        await expect(page.locator("#progress")).to_contain_text("Cancelled after 15 of 40")
        cancelled.set()

    stats = await visitor.client.stats()
    assert stats.types["report"].counts[Status.CANCELLED] == 15
    assert stats.types["report"].scheduled == 25


async def test_another_site_changes_nothing(visit: Any) -> None:
    """A page of another origin submits a form: the browser says where it comes from."""
    visitor = await visit(jobs)
    chain = await visitor.client.start(report.bind(1), delay=1000)
    target, field = f"{visitor.url}/change/cancel", f'<input name="id" value="{chain.id}">'
    form = f'<form method="post" action="{target}">{field}<button>win</button></form>'
    await visitor.page.route("http://evil.example/**", lambda route: route.fulfill(body=form, content_type="text/html"))
    await visitor.page.goto("http://evil.example/")

    async with visitor.page.expect_navigation() as navigation:
        await visitor.page.get_by_role("button").click()

    answer = await navigation.value
    assert answer is not None
    assert answer.status == 403
    visitor.problems.clear()  # the browser reports the refused request
    async with httpx.AsyncClient(timeout=60) as other:
        for headers in ({}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            refused = await other.post(f"{visitor.url}/change/cancel", data={"id": chain.id}, headers=headers)
            assert refused.status_code == 403
    found = await visitor.client.get(chain)
    assert found is not None
    assert found.status is Status.PENDING


async def test_a_job_is_found_and_retried_by_keyboard(visit: Any) -> None:
    visitor = await visit(jobs)
    await visitor.client.start(charge.bind(7))
    await drain(visitor.client)
    page = await visitor.open("/")
    keyboard = page.keyboard

    await keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await keyboard.press("/")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await keyboard.type("declined")
    await keyboard.press("Enter")
    await page.wait_for_url("**/search?q=declined")
    await _tab_to(page, "main a[href*='error%3Adeclined']")
    await keyboard.press("Enter")
    await _tab_to(page, "main a[href*='/chains/']")
    await keyboard.press("Enter")
    await expect(page.locator("#state .explanation")).to_be_visible()
    await _tab_to(page, "form[action$='/change/retry'] button")
    await keyboard.press("Enter")

    await expect(page.get_by_role("status")).to_contain_text("pending again")
    assert (await visitor.client.stats()).types["charge"].due == 1


async def _tab_to(page: Any, selector: str) -> None:
    """Press Tab until the element has the focus. Every element on the way shows where the focus is."""
    await expect(page.locator(selector).first).to_be_visible()
    for _ in range(60):
        await page.keyboard.press("Tab")
        reached, outlined, text = await page.evaluate(FOCUS, selector)
        if reached:
            return
        assert outlined, text
    raise AssertionError(f"{selector} cannot be reached")
