"""Access with a token: a form takes it, and a cookie proves later that it was given."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import deque

from starlette.requests import Request
from starlette.responses import Response

from holdfast.dashboard.access import Access
from holdfast.dashboard.view import cookie_path

COOKIE = "holdfast_session"
_LASTS = 12 * 3600
_MOST_FAILURES = 10
"""Wrong tokens per minute and address, beyond which no token is checked."""


class TokenLogin:
    """Gives the role `admin` to viewers that know the token."""

    def __init__(self, token: str) -> None:
        if len(token) < 8:
            raise ValueError("the token must have at least 8 characters; secrets.token_urlsafe() makes one with 43")
        self._token = token.encode()
        self._key = hashlib.sha256(b"holdfast dashboard session\0" + self._token).digest()
        self._failures: dict[str, deque[float]] = {}

    def access(self, request: Request) -> Access | None:
        """The access by the cookie, or by the header `Authorization: Bearer TOKEN` of a script."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return Access("admin") if self.matches(request, given.strip()) else None
        return Access("admin") if self._is_valid(request.cookies.get(COOKIE, "")) else None

    def matches(self, request: Request, given: str) -> bool:
        """Whether this is the token. After too many wrong ones from an address the answer is False for a minute."""
        client = request.client.host if request.client is not None else ""
        failures = self._failures.setdefault(client, deque())
        now = time.monotonic()
        while failures and failures[0] < now - 60:
            failures.popleft()
        correct = hmac.compare_digest(_digest(given.encode("utf-8", "replace")), _digest(self._token))
        if len(failures) >= _MOST_FAILURES:
            return False
        if correct:
            self._failures.pop(client, None)
            return True
        failures.append(now)
        if len(self._failures) > 10_000:
            self._failures.clear()
        return False

    def admit(self, request: Request, response: Response) -> None:
        """Set the cookie."""
        expires = int(time.time()) + _LASTS
        response.set_cookie(
            COOKIE, f"{expires}.{self._signature(expires)}", max_age=_LASTS, path=cookie_path(request),
            httponly=True, samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip

    def dismiss(self, request: Request, response: Response) -> None:
        """Delete the cookie."""
        response.delete_cookie(COOKIE, path=cookie_path(request), httponly=True, samesite="strict")

    def _is_valid(self, cookie: str) -> bool:
        expires, _, signature = cookie.partition(".")
        if not (expires.isascii() and expires.isdecimal() and len(expires) < 20):
            return False
        expected = self._signature(int(expires))
        return (
            hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode()) and int(expires) > time.time()
        )

    def _signature(self, expires: int) -> str:
        return hmac.new(self._key, str(expires).encode(), hashlib.sha256).hexdigest()


def _digest(token: bytes) -> bytes:
    """Of equal length for all tokens, so that the comparison does not depend on the length."""
    return hashlib.sha256(token).digest()
