"""Routes of pages. A page module has a list `ROUTES` made with `get` and `post`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from holdfast.dashboard.access import Role
from holdfast.dashboard.view import View

Handler = Callable[[View], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A path, the function that answers it, and the role that it needs."""

    path: str
    handler: Handler
    method: str
    role: Role


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """A page in the navigation. `rank` orders the entries."""

    title: str
    path: str


def get(path: str, handler: Handler) -> PageRoute:
    """A page that only reads."""
    return PageRoute(path, handler, "GET", "read")


def post(path: str, handler: Handler, *, role: Role) -> PageRoute:
    """A change. Viewers with a lower role receive 403 before the function is called."""
    return PageRoute(path, handler, "POST", role)
