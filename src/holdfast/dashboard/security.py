"""Checks every request and adds the headers that keep pages from being framed, scripted or cached."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Without exceptions for inline scripts and styles.
POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class Security:
    """ASGI middleware. `hosts`: the names that the header Host may have; None means any."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None = None) -> None:
        self._app = app
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is not None:
            await PlainTextResponse(refusal, 403)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        """Why a request is refused; None if it is not."""
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts:
            return "This address is not served under this host name. Open it under the name that was configured."
        if method not in SAFE_METHODS and not same_origin(headers):
            return "This request does not come from a page of this dashboard, so it was refused."
        return None


def same_origin(headers: Headers) -> bool:
    """Whether the browser says that a page of the same origin sent the request.

    Browsers send `Sec-Fetch-Site` to https and to localhost. Elsewhere `Origin` must name the host of the request.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin, host = headers.get("origin"), headers.get("host")
    if not origin or not host:
        return False
    found = urlsplit(origin)
    # The scheme is not compared: behind a proxy that ends TLS it differs. Its default port may be left out.
    ports = {"http": ":80", "https": ":443"}
    default = ports.get(found.scheme)
    return default is not None and found.netloc.lower().removesuffix(default) == host.lower().removesuffix(default)


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
