"""A page in a real browser, and the problems that the browser reported on it."""

# Playwright and axe do not type everything that they export.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ConsoleMessage, Page, expect

from holdfast import Client
from holdfast.cli.dashboard_server import serve
from holdfast.dashboard import Access, dashboard

TIMEOUT = 60_000
expect.set_options(timeout=TIMEOUT)

PAGES = (
    "/", "/jobs", "/chains", "/errors", "/limits", "/schedules", "/workers", "/queues", "/bulk",
    "/bulk/new?action=cancel", "/search?q=order",
)  # fmt: skip


class Visitor:
    """Opens pages of one dashboard. `problems` are errors of scripts and of the content security policy."""

    def __init__(self, page: Page, client: Client, url: str) -> None:
        self.page = page
        self.client = client
        self.url = url.rstrip("/")
        self.problems: list[str] = []
        page.set_default_timeout(TIMEOUT)
        page.on("console", self._receive)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _receive(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    async def open(self, path: str = "/") -> Page:
        response = await self.page.goto(self.url + path)
        assert response is not None
        assert response.status == 200, path
        return self.page

    async def serious(self, *rules: str) -> list[str]:
        """What axe finds on the page that is serious or critical, by all rules or by some."""
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        results: dict[str, Any] = (await Axe().run(self.page, options=options)).response
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in results["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"][:3]
        ]


@asynccontextmanager
async def served(client: Client) -> AsyncGenerator[str]:
    """A dashboard on a free port, for an administrator with the name ada."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    app = dashboard(client, lambda _request: Access("admin", user="ada"), timeout=60)
    async with serve(app, listening):
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
