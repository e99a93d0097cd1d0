"""The dashboard under WSGI: pages and changes, without live updates."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message

from holdfast.client.client import Client
from holdfast.dashboard.access import Authorize
from holdfast.dashboard.app import dashboard

Environment = dict[str, Any]
StartResponse = Callable[..., Any]

MOST_BYTES = 1 << 20
"""Bytes of a request that are read. The forms of the dashboard are smaller."""


def wsgi_dashboard(client: Client, authorize: Authorize | None = None, **options: Any) -> WsgiDashboard:
    """The dashboard as a WSGI application. The arguments are those of `dashboard`.

    The client belongs to the dashboard: it is opened at the first request, in an event loop in a thread of its own.
    `authorize(request)` finds the WSGI environment in `request.scope["wsgi_environ"]`.
    """
    return WsgiDashboard(client, dashboard(client, authorize, **options))


class WsgiDashboard:
    """Answers WSGI requests with an ASGI application. Its thread begins with the first request."""

    def __init__(self, client: Client, app: ASGIApp) -> None:
        self._client = client
        self._app = app
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, environ: Environment, start_response: StartResponse) -> Iterable[bytes]:
        answer = asyncio.run_coroutine_threadsafe(self._answer(environ), self._running_loop()).result()
        status, headers, body = answer
        if not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(("Content-Type", "text/plain; charset=utf-8"))  # some servers require it
        start_response(f"{status} {_phrase(status)}", headers)
        return [body]

    def close(self) -> None:
        """Close the client and end the thread."""
        with self._lock:
            loop, self._loop = self._loop, None
            if loop is not None and self._pid == os.getpid():
                asyncio.run_coroutine_threadsafe(self._shut_down(), loop).result()
                loop.call_soon_threadsafe(loop.stop)

    async def _shut_down(self) -> None:
        """End what runs in the background, such as a bulk action, and close the client."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=_run, args=(self._loop,), name="holdfast-dashboard", daemon=True).start()
            return self._loop

    async def _answer(self, environ: Environment) -> tuple[int, list[tuple[str, str]], bytes]:
        """The status, the headers and the body of the answer to one request."""
        incoming: list[Message] = [{"type": "http.request", "body": _body(environ), "more_body": False}]
        status, headers, body = 500, list[tuple[str, str]](), bytearray()

        async def receive() -> Message:
            return incoming.pop() if incoming else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))

        await self._app(_scope(environ), receive, send)
        return status, headers, bytes(body)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _body(environ: Environment) -> bytes:
    length = environ.get("CONTENT_LENGTH") or "0"
    size = min(int(length), MOST_BYTES) if length.isdecimal() else 0
    body: bytes = environ["wsgi.input"].read(size) if size else b""
    return body


def _scope(environ: Environment) -> dict[str, Any]:
    root, path = _text(environ, "SCRIPT_NAME").rstrip("/"), _text(environ, "PATH_INFO")
    headers = [
        (name.removeprefix("HTTP_").replace("_", "-").lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in environ.items()
        if name.startswith("HTTP_") or name in ("CONTENT_TYPE", "CONTENT_LENGTH")
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": environ.get("SERVER_PROTOCOL", "HTTP/1.1").partition("/")[2],
        "method": environ["REQUEST_METHOD"],
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "root_path": root,
        "path": root + (path or "/"),
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"),
        "headers": headers,
        "client": (environ.get("REMOTE_ADDR", ""), int(environ.get("REMOTE_PORT") or 0)),
        "server": (environ.get("SERVER_NAME", ""), int(environ.get("SERVER_PORT") or 80)),
        # The dashboard shows no live updates: a connection that stays open would use a thread of the server.
        "wsgi_environ": environ,
    }


def _text(environ: Environment, name: str) -> str:
    """WSGI passes the bytes of UTF-8 as characters of latin-1."""
    text: str = environ.get(name, "")
    return text.encode("latin-1").decode("utf-8", "replace")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
