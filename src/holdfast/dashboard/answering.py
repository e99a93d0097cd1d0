"""Calls the functions of pages with a checked viewer, and answers errors with a page."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from holdfast.dashboard.access import Access
from holdfast.dashboard.live import MOST_VIEWERS
from holdfast.dashboard.operator import Forbidden
from holdfast.dashboard.routing import PageRoute
from holdfast.dashboard.settings import DashboardSettings
from holdfast.dashboard.view import View, page, url
from holdfast.dashboard.viewer import ReadTooSlow
from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable

log = logging.getLogger("holdfast.dashboard")

Endpoint = Callable[[Request], Awaitable[Response]]


def answer(settings: DashboardSettings, route: PageRoute) -> Endpoint:
    """The endpoint of a page: no access, no call."""

    async def endpoint(request: Request) -> Response:
        access = await settings.access(request)
        if access is None:
            return _without_access(request, settings)
        if not access.may(route.role):
            raise Forbidden(route.role)
        await settings.client.open()
        if not settings.read_only:
            settings.bulk.continue_left_over()
        try:
            return await route.handler(View(request, settings, access))
        finally:
            if route.method != "GET":
                settings.shared.expire()

    return endpoint


def live(settings: DashboardSettings) -> Endpoint:
    """Server-sent events: one message for each group of changes."""

    async def endpoint(request: Request) -> Response:
        access = await settings.access(request)
        if access is None or "wsgi_environ" in request.scope:
            return Response(status_code=403)
        if settings.changes.viewers >= MOST_VIEWERS:
            return Response(status_code=204)  # EventSource does not try again
        await settings.client.open()
        messages = settings.changes.messages(access, request.query_params.get("chain"))
        return StreamingResponse(messages, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return endpoint


def login(settings: DashboardSettings) -> Endpoint:
    """The form that takes the token."""

    async def endpoint(request: Request) -> Response:
        if settings.login is None:
            raise HTTPException(404)
        if request.method == "GET":
            return page(request, settings, "login.html", wrong=False, next=request.query_params.get("next", ""))
        view = View(request, settings, Access("read", types=()))
        form = await view.form()
        if not settings.login.matches(request, form.get("token", "")):
            return page(request, settings, "login.html", status=401, wrong=True, next=form.get("next", ""))
        response = view.back(form.get("next", ""), "")
        response.delete_cookie("holdfast_notice")
        settings.login.admit(request, response)
        return response

    return endpoint


def logout(settings: DashboardSettings) -> Endpoint:
    """Delete the cookie."""

    async def endpoint(request: Request) -> Response:
        response = RedirectResponse(url(request, "/login"), 303)
        if settings.login is not None:
            settings.login.dismiss(request, response)
        return response

    return endpoint


def error_handlers(settings: DashboardSettings) -> Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]]:
    """Pages for errors."""

    def show(request: Request, status: int, title: str, text: str) -> Response:
        return page(request, settings, "error.html", status=status, title=title, text=text)

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return show(request, 404, "Not found", "There is no such page, job or chain, or you may not see it.")
        return show(request, error.status_code, "Refused", error.detail)

    async def forbidden(request: Request, error: Exception) -> Response:
        return show(request, 403, "Not permitted", str(error))

    async def too_slow(request: Request, _error: Exception) -> Response:
        text = "The store did not answer in time. Narrow the filter, or try again later."
        return show(request, 503, "This took too long", text)

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, StoreUnavailable):
            # The text names the server of the store.
            log.warning("%s", error)
            text = "The store does not answer. The log of the dashboard has the details."
            return show(request, 503, "The store is unavailable", text)
        status = 503 if isinstance(error, NotPermitted) else 409
        return show(request, status, "The store refused this", str(error))

    return {HTTPException: http, Forbidden: forbidden, ReadTooSlow: too_slow, HoldfastError: refused}


def _without_access(request: Request, settings: DashboardSettings) -> Response:
    if settings.login is not None and request.method == "GET":
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(url(request, "/login", next=here), 303)
    text = "You have no access to this dashboard."
    return page(request, settings, "error.html", status=401 if settings.login else 403, title="No access", text=text)
