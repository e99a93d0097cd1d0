"""The dashboard in a real browser. These tests are collected where a browser is installed: `make browser`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.browser.installed import BROWSER

collect_ignore_glob = [] if BROWSER else ["test_*.py"]

if BROWSER:
    from playwright.async_api import Browser, async_playwright

    from holdfast import Client, Jobs
    from tests.browser.visitor import TIMEOUT, Visitor, served

    @pytest.fixture
    async def chromium() -> AsyncGenerator[Browser]:
        async with async_playwright() as playwright:
            # Containers forbid the sandbox of a browser that root runs.
            browser = await playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"], timeout=TIMEOUT)
            yield browser
            await browser.close()

    @pytest.fixture
    async def visit(chromium: Browser, tmp_path: Path) -> AsyncGenerator[Callable[..., Any]]:
        """Opens the dashboard of a registry: `visitor = await visit(jobs)`. At the end no page has had a problem."""
        async with AsyncExitStack() as stack:
            visitors: list[Visitor] = []

            async def opened(jobs: Jobs, store: str | None = None, **options: Any) -> Visitor:
                client = Client(store or f"sqlite:///{tmp_path}/jobs.db", jobs)
                await stack.enter_async_context(client)
                url = await stack.enter_async_context(served(client))
                given: Any = {"viewport": {"width": 1280, "height": 900}, **options}
                context = await chromium.new_context(**given)
                stack.push_async_callback(context.close)
                visitors.append(Visitor(await context.new_page(), client, url))
                return visitors[-1]

            yield opened
            for visitor in visitors:
                assert visitor.problems == []
            await asyncio.sleep(0)
