"""Bulk actions: the number of affected jobs and a confirmation, the progress, and what was skipped."""

from __future__ import annotations

from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from holdfast.bulk import ACTIONS, MOST, Action, FilterTooBroad, NothingToDo, preview, start
from holdfast.core.job import Job
from holdfast.dashboard.access import Role
from holdfast.dashboard.bulk import chosen, visible_action, visible_actions
from holdfast.dashboard.operator import Forbidden
from holdfast.dashboard.routing import get, post
from holdfast.dashboard.view import View

TITLES: Final[dict[Action, str]] = {
    "retry": "Retry",
    "cancel": "Cancel",
    "run_now": "Run now",
    "delete": "Delete",
    "pause": "Pause the types of",
}
MOST_REASON: Final = 500


async def show(view: View) -> Response:
    """The newest bulk actions."""
    return view.page("bulk_actions.html", actions=await visible_actions(view), titles=TITLES, live=view.live())


async def confirm(view: View) -> Response:
    """How many jobs the action would change, and the question whether to do it. Nothing is changed."""
    action = _action(view.query.get("action", ""))
    query = view.query.get("q", "").strip()
    try:
        found = chosen(view, query)
        seen = None
        if found is not None:
            stats = list((await view.viewer.stats()).types.values())
            seen = await view.viewer.read(preview(view.settings.client.store, action, found, stats))
        problem = ""
    except ValueError as error:
        seen, problem = None, str(error)
    jobs = [Job(chain.last, view.settings.client.jobs) for chain in (seen.shown if seen else ())]
    return view.page(
        "bulk_new.html", action=action, title=TITLES[action], query=query, seen=seen, problem=problem,
        role=_role(action), most=MOST, jobs=jobs,
        mark="~" if seen and seen.from_counts and view.viewer.approximate else "",
    )  # fmt: skip


async def begin(view: View) -> Response:
    """Fix the members and start the chain of the action."""
    form = await view.form()
    action = _action(form.get("action", ""))
    query = form.get("q", "").strip()
    if not view.access.may(_role(action)):
        raise Forbidden(_role(action))
    runner = view.settings.bulk
    again = view.url("/bulk/new", action=action, q=query)
    try:
        found = chosen(view, query)
        if found is None:
            raise NothingToDo
        chain = await start(
            runner.client, action, found, user=view.access.user or "dashboard", query=query,
            reason=form.get("reason", "").strip()[:MOST_REASON] or None, types=view.access.allowed_types,
        )  # fmt: skip
    except (NothingToDo, FilterTooBroad, ValueError) as error:
        return view.back(again, str(error), problem=True)
    runner.wake()
    return view.back(view.url("/bulk/one", id=chain.id), "The bulk action has begun.")


async def show_one(view: View) -> Response:
    """The progress of one action and its report."""
    action = await visible_action(view, view.query.get("id", ""))
    if action is None:
        raise HTTPException(404)
    return view.page("bulk_action.html", action=action, title=TITLES[action.action], live=view.live(action.id))


async def cancel(view: View) -> Response:
    """Cancel an action. What it has changed already stays changed."""
    id = (await view.form()).get("id", "")
    action = await visible_action(view, id)
    if action is None:
        raise HTTPException(404)
    with view.operator.acting("operate") as client:
        await client.cancel(action.id)
    return view.back(view.url("/bulk/one", id=action.id), "The bulk action is cancelled.")


def _action(text: str) -> Action:
    if text not in ACTIONS:
        raise HTTPException(404)
    return text


def _role(action: Action) -> Role:
    return "admin" if action == "delete" else "operate"


ROUTES = [
    get("/bulk", show),
    get("/bulk/new", confirm),
    get("/bulk/one", show_one),
    post("/bulk/start", begin, role="operate"),
    post("/bulk/cancel", cancel, role="operate"),
]
