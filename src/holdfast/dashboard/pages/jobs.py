"""Jobs: a list with filters, and the single changes of a job."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from holdfast.core.job import Job, Page
from holdfast.dashboard.pages import listing
from holdfast.dashboard.pages.listing import PAGE_SIZE, Row
from holdfast.dashboard.query import EXAMPLE, parse
from holdfast.dashboard.routing import NavigationEntry, get
from holdfast.dashboard.text import in_url
from holdfast.dashboard.view import View, link
from holdfast.dashboard.viewer import ReadTooSlow

PATH = "/jobs"


async def show(view: View) -> Response:
    query = parse(view.query.get("q", ""), view.access)
    found: Page[Job] = Page([], None)
    slow = False
    if not query.problems:
        try:
            cursor = view.query.get("cursor") or None
            found = await view.viewer.list_jobs(cursor=cursor, limit=PAGE_SIZE, chain=query.chain, **query.filters)
        except ReadTooSlow:
            slow = True
        except ValueError as error:
            query.problems.append(str(error))
    rows = [
        Row(job, job.id, job.type, job.key, link(view.request, job), view.redaction.error(job.error))
        for job in found.items
    ]
    return view.page(
        "list.html",
        title="Jobs",
        path=PATH,
        text=view.query.get("q", ""),
        query=query,
        example=EXAMPLE,
        rows=rows,
        columns=listing.columns(query),
        titles=listing.TITLES,
        tabs=listing.tabs(view, PATH, query, await view.viewer.stats_or_none()),
        next=view.url(PATH, q=str(query), cursor=found.next_cursor) if found.next_cursor else None,
        first=view.url(PATH, q=str(query)) if view.query.get("cursor") else None,
        slow=slow,
        live=view.live(),
    )


async def one(view: View) -> Response:
    """Lead to the place of a job on the page of its chain."""
    job_id = view.query.get("id") or view.request.path_params["id"]
    job = await view.viewer.get_job(job_id)
    if job is None:
        raise HTTPException(404)
    target = link(view.request, job).partition("#")[0]
    joint = "&" if "?" in target else "?"
    return RedirectResponse(f"{target}{joint}job={in_url(job.id)}#job", 303)


NAVIGATION = NavigationEntry("Jobs", PATH)
ROUTES = [get(PATH, show), get("/jobs/{id:path}", one)]
