"""The dashboard as a view behind the login of the admin: `path("ops/jobs/", include("holdfast.contrib.django.urls"))`.

It works under WSGI and ASGI. The pages run on an event loop of their own, in a thread, with a client of their own.
Without live updates: a page that stays open would occupy a thread of the server.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.views.decorators.csrf import csrf_exempt

from holdfast.client.client import Client
from holdfast.contrib.django.addresses import store_address
from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.discovery import discover
from holdfast.dashboard import Access, dashboard

_ACCESS = "holdfast.access"


@csrf_exempt  # the dashboard refuses changes that do not come from its own pages
def dashboard_view(request: HttpRequest, path: str = "") -> HttpResponse:
    """A page of the dashboard. The user must be allowed to use the admin, and have the permission to view jobs.

    `holdfast.operate_job` gives the role operate, and `holdfast.delete_job` the role admin.
    """
    if not admin.site.has_permission(request):
        return redirect_to_login(request.get_full_path(), _login_address())
    access = access_of(request.user)
    if access is None:
        raise PermissionDenied("The permission to view jobs is required: holdfast.view_job")
    return _pages().answer(request, path, access)


def access_of(user: Any) -> Access | None:
    """What a user may see and do; None without the permission to view jobs."""
    if not user.has_perm("holdfast.view_job"):
        return None
    if user.has_perm("holdfast.delete_job"):
        return Access("admin", user=user.get_username())
    return Access("operate" if user.has_perm("holdfast.operate_job") else "read", user=user.get_username())


class Pages:
    """The dashboard on an event loop in a thread, which lives as long as the process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="holdfast-dashboard", daemon=True).start()
        # The client belongs to this event loop.
        self._app = self._run(self._made())
        self.process = os.getpid()

    async def _made(self) -> Any:
        client = Client(store_address(configuration()), discover())
        return dashboard(client, authorize=_authorized)

    def answer(self, request: HttpRequest, path: str, access: Access) -> HttpResponse:
        """Call the application with a request of Django."""
        response: HttpResponse = self._run(self._call(_scope(request, path, access), request.body))
        return response

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _call(self, scope: dict[str, Any], body: bytes) -> HttpResponse:
        response, ended = HttpResponse(), asyncio.Event()
        parts = [body]

        async def receive() -> dict[str, Any]:
            if parts:
                return {"type": "http.request", "body": parts.pop(), "more_body": False}
            await ended.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                response.status_code = message["status"]
                for name, value in message.get("headers", ()):
                    _add_header(response, name.decode("latin-1"), value.decode("latin-1"))
            else:
                response.write(message.get("body", b""))

        await self._app(scope, receive, send)
        ended.set()
        return response


def _scope(request: HttpRequest, path: str, access: Access) -> dict[str, Any]:
    full = request.path
    root = full.removesuffix(path).rstrip("/")
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": f"{root}/{path}",
        "raw_path": full.encode(),
        "root_path": root,
        "query_string": request.META.get("QUERY_STRING", "").encode("latin-1"),
        "headers": headers,
        "client": None,
        "server": None,
        "state": {},
        # The dashboard offers no live updates then.
        "wsgi_environ": {},
        _ACCESS: access,
    }


async def _authorized(request: Any) -> Access | None:
    return cast("Access | None", request.scope[_ACCESS])


def _add_header(response: HttpResponse, name: str, value: str) -> None:
    if name.lower() == "set-cookie":
        response.cookies.load(value)
    elif name.lower() != "content-length":  # Django writes its own
        response.headers[name] = value


def _login_address() -> str | None:
    try:
        return reverse("admin:login")
    except NoReverseMatch:  # without the admin: LOGIN_URL of the settings
        return None


_lock = threading.Lock()
_made: Pages | None = None


def _pages() -> Pages:
    global _made
    with _lock:
        if _made is None or _made.process != os.getpid():
            _made = Pages()
        return _made
