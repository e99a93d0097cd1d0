"""The dashboard as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

from holdfast.bulk import BulkRunner
from holdfast.client.client import Client
from holdfast.dashboard import answering, static_files
from holdfast.dashboard.access import Authorize
from holdfast.dashboard.live import Changes
from holdfast.dashboard.login import TokenLogin
from holdfast.dashboard.mounting import MountedAt
from holdfast.dashboard.pages import NAVIGATION, ROUTES
from holdfast.dashboard.security import Security
from holdfast.dashboard.settings import DashboardSettings
from holdfast.dashboard.shared import Shared
from holdfast.dashboard.viewer import READ_TIMEOUT


def dashboard(
    client: Client,
    authorize: Authorize | None = None,
    *,
    insecure: bool = False,
    token: str | None = None,
    read_only: bool = False,
    hosts: Collection[str] | None = None,
    timeout: float = READ_TIMEOUT,
    root_path: str = "",
) -> Starlette:
    """The dashboard as an ASGI application, to be served alone or mounted under any path.

    `authorize(request)` returns the `Access` of the viewer, or None for no access; it may be async. Instead of it,
    `token` asks viewers for this token, which gives the role "admin". If neither is given, it raises a ValueError,
    unless `insecure=True` makes every viewer an administrator. `read_only` allows no changes. `hosts`: the accepted
    names in the header Host. `timeout`: seconds that one read of the store may take. `root_path`: the path of the
    dashboard, where a framework or proxy removes it from requests without reporting it.
    """
    _require_one(authorize, token, insecure=insecure)
    changes = Changes(client)
    settings = DashboardSettings(
        client=client,
        authorize=authorize,
        login=None if token is None else TokenLogin(token),
        read_only=read_only,
        timeout=timeout,
        pages=NAVIGATION,
        changes=changes,
        bulk=BulkRunner(client.store),
        shared=Shared(client),
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        await client.open()
        yield
        await changes.close()
        await settings.bulk.close()

    app = Starlette(
        routes=_routes(settings),
        middleware=[
            Middleware(MountedAt, root_path=root_path),
            Middleware(Security, hosts=hosts),
            Middleware(GZipMiddleware, minimum_size=1000),
        ],
        exception_handlers=answering.error_handlers(settings),
        lifespan=lifespan,
    )
    app.state.end_live_updates = changes.end
    return app


def _require_one(authorize: Authorize | None, token: str | None, *, insecure: bool) -> None:
    """ValueError unless exactly one of the arguments says who may look at the dashboard."""
    if authorize is None and token is None and not insecure:
        raise ValueError(
            "dashboard needs authorize=, a function that returns the Access of a request, or token=; "
            "insecure=True gives every viewer the role admin"
        )
    if (authorize is not None) + (token is not None) + insecure > 1:
        raise ValueError("dashboard takes one of authorize=, token= and insecure=True")


def _routes(settings: DashboardSettings) -> list[Route]:
    return [
        Route("/static/{hash}/{name:path}", static_files.serve),
        Route("/login", answering.login(settings), methods=["GET", "POST"]),
        Route("/logout", answering.logout(settings), methods=["POST"]),
        Route("/live", answering.live(settings)),
        *(Route(route.path, answering.answer(settings, route), methods=[route.method]) for route in ROUTES),
    ]
