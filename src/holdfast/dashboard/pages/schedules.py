"""Schedules: their next ticks and history, and pause, resume, fire and backfill."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.responses import Response

from holdfast.core.schedule import Schedule, upcoming
from holdfast.dashboard.routing import NavigationEntry, get, post
from holdfast.dashboard.schedules import find_schedule, history, visible_schedules
from holdfast.dashboard.view import View
from holdfast.errors import HoldfastError

NEXT_IN_LIST, NEXT_ON_PAGE = 3, 10


async def show(view: View) -> Response:
    """All schedules that the viewer may see."""
    rows = [(schedule, upcoming(schedule, NEXT_IN_LIST)) for schedule in await visible_schedules(view)]
    return view.page("schedules.html", rows=rows, live=view.live())


async def show_one(view: View) -> Response:
    """One schedule. Its name is a parameter: it may contain any character."""
    schedule = await find_schedule(view, view.query.get("name", ""))
    if schedule is None:
        raise HTTPException(404)
    now = datetime.now(UTC)
    return view.page(
        "schedule.html",
        schedule=schedule,
        next=upcoming(schedule, NEXT_ON_PAGE),
        ticks=await history(view, schedule, now),
        today=now.strftime("%Y-%m-%dT00:00"),
        now=now.strftime("%Y-%m-%dT%H:%M"),
        live=view.live(),
    )


async def pause(view: View) -> Response:
    form = await view.form()
    schedule = await _named(view, form)
    with view.operator.acting("operate", schedule.type) as client:
        await client.pause_schedule(schedule.name, reason=form.get("reason") or None)
    return _back(view, schedule, f"{schedule.name} is paused: its ticks are skipped.")


async def resume(view: View) -> Response:
    schedule = await _named(view, await view.form())
    with view.operator.acting("operate", schedule.type) as client:
        await client.resume_schedule(schedule.name)
    return _back(view, schedule, f"{schedule.name} is resumed.")


async def fire(view: View) -> Response:
    schedule = await _named(view, await view.form())
    with view.operator.acting("operate", schedule.type) as client:
        chain = await client.fire(schedule.name)
    return _back(view, schedule, f"Started the chain {chain.id}.")


async def backfill(view: View) -> Response:
    """Start the chains of past ticks in a period, in UTC."""
    form = await view.form()
    schedule = await _named(view, form)
    with view.operator.acting("admin", schedule.type) as client:
        try:
            since, until = _moment(form.get("since", "")), _moment(form.get("until", ""))
            chains = await client.backfill(schedule.name, since=since, until=until)
        except (ValueError, HoldfastError) as error:
            return _back(view, schedule, str(error), problem=True)
    return _back(view, schedule, f"Started {len(chains):,} chains." if chains else "Every tick has its chain already.")


async def remove(view: View) -> Response:
    """Remove a schedule that no registry declares."""
    schedule = await _named(view, await view.form())
    with view.operator.acting("admin", schedule.type) as client:
        try:
            await client.unschedule(schedule.name)
        except ValueError as error:
            return _back(view, schedule, str(error), problem=True)
    return view.back(view.url("/schedules"), f"{schedule.name} is removed. Its chains stay.")


async def _named(view: View, form: dict[str, str]) -> Schedule:
    """The schedule that a form names, if the viewer may see it."""
    schedule = await find_schedule(view, form.get("name", ""))
    if schedule is None:
        raise HTTPException(404)
    return schedule


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r:.40} is not a time: write 2026-01-31T00:00, in UTC") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _back(view: View, schedule: Schedule, notice: str, *, problem: bool = False) -> Response:
    return view.back(view.url("/schedules/one", name=schedule.name), notice, problem=problem)


NAVIGATION = NavigationEntry("Schedules", "/schedules")
ROUTES = [
    get("/schedules", show),
    get("/schedules/one", show_one),
    post("/schedules/pause", pause, role="operate"),
    post("/schedules/resume", resume, role="operate"),
    post("/schedules/fire", fire, role="operate"),
    post("/schedules/backfill", backfill, role="admin"),
    post("/schedules/remove", remove, role="admin"),
]
