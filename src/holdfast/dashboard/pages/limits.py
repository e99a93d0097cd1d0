"""Limits: limits, rates and orders with their lanes, what holds them, and a change of their numbers."""

from __future__ import annotations

from starlette.responses import Response

from holdfast.dashboard.limits import visible_limits
from holdfast.dashboard.operator import Forbidden
from holdfast.dashboard.routing import NavigationEntry, get, post
from holdfast.dashboard.view import View
from holdfast.errors import LimitNotFound

LANES_SHOWN = 50


async def show(view: View) -> Response:
    limits = await visible_limits(view)
    return view.page("limits.html", limits=limits, most=LANES_SHOWN, live=view.live())


async def set_number(view: View) -> Response:
    """Set the number of a limit or of one lane."""
    form = await view.form()
    name, key, text = form.get("name", ""), form.get("key"), form.get("number", "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        return _back(view, f"{text!r:.40} is not a number of 0 or more. Nothing was changed.", problem=True)
    await _check(view, name)
    with view.operator.acting("admin") as client:
        try:
            await client.set_limit(name, int(text), key)
        except (LimitNotFound, ValueError) as error:
            return _back(view, str(error), problem=True)
    view.settings.shared.limits.expire()
    return _back(view, f"{name} is {text}{_lane(key)}.")


async def reset(view: View) -> Response:
    """Return a limit or one lane to its declared number."""
    form = await view.form()
    name, key = form.get("name", ""), form.get("key")
    await _check(view, name)
    with view.operator.acting("admin") as client:
        try:
            await client.reset_limit(name, key)
        except LimitNotFound as error:
            return _back(view, str(error), problem=True)
    view.settings.shared.limits.expire()
    return _back(view, f"{name} has its declared number again{_lane(key)}.")


async def _check(view: View, name: str) -> None:
    """Forbidden if the viewer may not see this limit."""
    if view.access.allowed_types is not None and name not in {limit.name for limit in await visible_limits(view)}:
        raise Forbidden("admin")


def _lane(key: str | None) -> str:
    return "" if key is None else f" for the key {key}"


def _back(view: View, notice: str, *, problem: bool = False) -> Response:
    return view.back(view.url("/limits"), notice, problem=problem)


NAVIGATION = NavigationEntry("Limits", "/limits")
ROUTES = [
    get("/limits", show),
    post("/limits/set", set_number, role="admin"),
    post("/limits/reset", reset, role="admin"),
]
