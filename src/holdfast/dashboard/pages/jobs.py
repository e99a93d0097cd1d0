"""Jobs: a list with filters, and the single changes of a job."""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from holdfast.core.job import Job, Page
from holdfast.dashboard.pages import listing
from holdfast.dashboard.pages.listing import PAGE_SIZE, Row
from holdfast.dashboard.query import parse
from holdfast.dashboard.routing import NavigationEntry, get
from holdfast.dashboard.text import in_url
from holdfast.dashboard.view import View, link

PATH = "/jobs"


async def show(view: View) -> Response:
    query = parse(view.query.get("q", ""), view.access)

    def read() -> Awaitable[Page[Job]]:
        cursor = view.query.get("cursor") or None
        return view.viewer.list_jobs(cursor=cursor, limit=PAGE_SIZE, chain=query.chain, **query.filters)

    page, slow = await listing.read_page(query, read)
    rows = [
        Row(job, job.id, job.type, job.key, link(view.request, job), view.redaction.error(job.error))
        for job in page.items
    ]
    stats = await view.viewer.stats_or_none()
    return listing.show_page(view, "Jobs", PATH, query, page, rows, slow=slow, stats=stats)


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
