"""A dashboard on a store, and requests to it like those of a browser."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx
import pytest

from holdfast import Client
from holdfast.dashboard import Access, dashboard, shared
from tests.conformance.conftest import make_store as make_store
from tests.dashboard.shop import jobs
from tests.waiting import TIMEOUT


class Browser:
    """Requests to a dashboard, without a network. Forms are sent as a page of the dashboard sends them."""

    def __init__(self, app: Any, base: str = "http://testserver") -> None:
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base)

    async def get(self, path: str, *, status: int = 200, **options: Any) -> httpx.Response:
        response = await self.http.get(path, **options)
        assert response.status_code == status, response.text
        return response

    async def text(self, path: str, *, status: int = 200) -> str:
        return (await self.get(path, status=status)).text

    async def post(self, path: str, *, status: int = 303, headers: dict[str, str] | None = None, **form: str) -> str:
        """Send a form. Returns the target of the redirect."""
        sent = {"Sec-Fetch-Site": "same-origin"} if headers is None else headers
        response = await self.http.post(path, data=form, headers=sent)
        assert response.status_code == status, response.text
        location: str = response.headers.get("location", "")
        return location


Open = Callable[..., Browser]


@pytest.fixture(autouse=True)
def _fresh_numbers(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Every page reads the store, also if this machine is slow."""
    monkeypatch.setattr(shared, "QUICK", float("inf"))


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with Client("memory://", jobs) as client:
        yield client


@pytest.fixture
def browse(client: Client) -> Open:
    """Opens a dashboard for a viewer: `browse("read", types=["add"])`."""

    def opened(role: Any = "admin", **access: Any) -> Browser:
        names = ("read_only", "hosts", "timeout")
        options: dict[str, Any] = {"timeout": TIMEOUT} | {name: access.pop(name) for name in names if name in access}
        return Browser(dashboard(client, lambda _request: Access(role, **access), **options))

    return opened


@pytest.fixture
def browser(browse: Open) -> Browser:
    """The dashboard of an administrator."""
    return browse("admin", user="ada")
