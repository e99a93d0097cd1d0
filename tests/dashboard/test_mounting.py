"""The dashboard under any path, behind a proxy, in other frameworks, and under WSGI."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncGenerator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from wsgiref.validate import validator

import pytest
from fastapi import FastAPI
from litestar import Litestar, asgi
from starlette.applications import Starlette
from starlette.routing import Mount

from holdfast import Client, SyncClient
from holdfast.dashboard import Access, dashboard, wsgi_dashboard
from tests.dashboard.conftest import Browser
from tests.dashboard.shop import add, jobs

ROOT = "/ops/jobs"


def fastapi(app: Any) -> Any:
    made = FastAPI()
    made.mount(ROOT, app)
    return made


def starlette(app: Any) -> Any:
    return Starlette(routes=[Mount("/ops", routes=[Mount("/jobs", app)])])


def litestar(app: Any) -> Any:
    return Litestar([asgi(ROOT, is_mount=True, copy_scope=True)(app)], logging_config=None)


def proxy(app: Any) -> Any:
    """A proxy that removes the path before it forwards a request."""

    async def forward(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "path": scope["path"].removeprefix(ROOT) or "/"}, receive, send)

    return forward


@pytest.mark.parametrize("mount", [fastapi, starlette, litestar, proxy])
async def test_links_forms_and_cookies_stay_below_the_path(client: Client, mount: Any) -> None:
    board = dashboard(client, token="a long token", root_path=ROOT if mount in (litestar, proxy) else "")
    browser = Browser(mount(board))
    chain = await client.start(add.bind(a=1), delay=1000)

    assert (await browser.get(f"{ROOT}/workers", status=303)).headers["location"].startswith(f"{ROOT}/login?next=")
    await browser.post(f"{ROOT}/login", token="a long token", next=f"{ROOT}/workers")
    for path in ("/", "/jobs", "/workers", "/schedules", f"/chains/{chain.id}", "/bulk/new?action=cancel"):
        page = await browser.text(ROOT + path)
        links = re.findall(r'(?:href|src|action|data-live|hx-get)="(/[^"]*)"', page)
        assert links
        assert [link for link in links if not link.startswith(f"{ROOT}/")] == [], path
    style = re.search(r'href="([^"]*dashboard.css)"', await browser.text(f"{ROOT}/"))
    assert style is not None
    await browser.get(style[1])
    assert (await browser.post(f"{ROOT}/change/run-now", id=chain.id, next=f"{ROOT}/jobs")) == f"{ROOT}/jobs"
    assert all(cookie.path == f"{ROOT}/" for cookie in browser.http.cookies.jar)


@pytest.fixture
async def board(tmp_path: Path) -> AsyncGenerator[Any]:
    made = wsgi_dashboard(
        Client(f"sqlite:///{tmp_path}/jobs.db", jobs),
        lambda request: Access("admin", user=request.scope["wsgi_environ"].get("REMOTE_USER", "")),
    )
    yield made
    made.close()


def test_pages_and_changes_work_under_wsgi(board: Any, tmp_path: Path) -> None:
    with SyncClient(f"sqlite:///{tmp_path}/jobs.db", jobs) as client:
        chain = client.start(add.bind(a=1), delay=1000)

        for path in ("/", "/jobs", "/workers", "/errors", f"/chains/{chain.id}"):
            status, headers, page = ask(board, path)
            assert status == "200 OK"
            assert "data-live" not in page
            assert "default-src 'self'" in headers["content-security-policy"]
            assert f'href="{ROOT}/jobs"' in page
        assert ask(board, "/none")[0] == "404 Not Found"
        assert ask(board, "/change/cancel", form={"id": chain.id})[0] == "403 Forbidden"
        form = {"action": "cancel", "q": ""}
        status, headers, _ = ask(board, "/bulk/start", form=form, HTTP_SEC_FETCH_SITE="same-origin")
        assert status == "303 See Other"
        assert headers["location"].startswith(f"{ROOT}/bulk/one?id=")

        report = client.wait(headers["location"].partition("id=")[2], timeout=30)
        assert report["done"] == 1
        assert [(entry.user, entry.action) for entry in client.audit(chain)] == [("ann", "cancel")]


def ask(board: Any, path: str, form: dict[str, str] | None = None, **more: str) -> tuple[str, dict[str, str], str]:
    """One WSGI request, checked by the validator of the standard library."""
    body = urlencode(form or {}).encode()
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "GET" if form is None else "POST", "SCRIPT_NAME": ROOT, "PATH_INFO": path, "QUERY_STRING": "",
        "SERVER_NAME": "example.org", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "example.org",
        "REMOTE_USER": "ann", "wsgi.input": BytesIO(body), "wsgi.errors": sys.stderr, "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http", "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False, **more,
    }  # fmt: skip
    if form is not None:
        environ |= {"CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/x-www-form-urlencoded"}
    answered: list[tuple[str, dict[str, str]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        answered.append((status, {name.lower(): value for name, value in headers}))
        return answered.append

    parts = validator(board)(environ, start_response)
    text = b"".join(parts).decode()
    getattr(parts, "close")()  # noqa: B009 - the validator demands it
    return *answered[0], text
