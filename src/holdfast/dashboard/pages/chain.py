"""One chain: why it is in its state, its graph, its jobs with their attempts, and the changes to it."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from holdfast.core.details import lanes_of
from holdfast.core.explanation import NAMED_MESSAGES, Explanation
from holdfast.core.job import Chain, Job, Report
from holdfast.core.record import Status
from holdfast.core.schedule import schedule_of
from holdfast.dashboard.access import Field
from holdfast.dashboard.graph import Links, draw
from holdfast.dashboard.pages.complete import waits_for_completion
from holdfast.dashboard.pages.listing import shown_status
from holdfast.dashboard.pages.steps import shown_steps
from holdfast.dashboard.routing import get
from holdfast.dashboard.schedules import find_schedule
from holdfast.dashboard.timeline import timeline
from holdfast.dashboard.view import View

MOST_JOBS = 300
"""Jobs of a chain on the page: the newest ones."""
MOST_WITH_BLOCKERS = 20
MOST_DEPENDENTS = 300
MOST_STARTED = 300


async def show(view: View) -> Response:
    chain_id = view.query.get("id") or view.request.path_params["id"]
    page = await view.viewer.list_jobs(chain=chain_id, limit=MOST_JOBS)
    jobs = sorted(page.items, key=lambda job: job.index)
    if not jobs:
        raise HTTPException(404)
    chain = await view.viewer.get_chain(chain_id)
    selected, current = _selected(view, jobs), jobs[-1]
    report = await view.viewer.report(selected)
    if report is None:  # deleted meanwhile
        raise HTTPException(404)
    explanation = await view.viewer.explain(selected)
    links = await _links(view, chain_id, jobs)
    return view.page(
        "chain.html",
        chain=chain,
        chain_id=chain_id,
        current=current,
        chain_status=shown_status(current),
        jobs=jobs,
        first_index=jobs[0].index,
        drawing=draw(jobs, links, selected=selected.id),
        has_links=bool(links) or len(jobs) > 1,
        origin=links.origin,
        schedule=await _schedule(view, jobs[0]),
        can=_possible(selected, current, whole=chain is not None),
        external=selected is current and chain is not None and waits_for_completion(explanation),
        live=view.live(chain_id),
        **await _details(view, selected, report, explanation),
    )


async def _details(view: View, job: Job, report: Report, explanation: Explanation | None) -> dict[str, Any]:
    """What the page shows of the selected job."""
    attempts, older = timeline(report, view.redaction)
    steps, older_steps = await shown_steps(view, job)
    stats = await view.viewer.stats_or_none()
    row = stats.types.get(job.type) if stats is not None else None
    return {
        "selected": job,
        "selected_status": shown_status(job),
        "explanation": _text(view, explanation),
        "awaited": () if explanation is None else explanation.messages[:NAMED_MESSAGES],
        "message_timeout": None if explanation is None else explanation.message_timeout,
        "steps": steps,
        "older_steps": older_steps,
        "attempts": attempts,
        "older": older,
        "input": view.redaction.payload(job.record.input, "input"),
        "output": view.redaction.payload(job.record.output, "output"),
        "error": view.redaction.traceback(job.error),
        "changes": await view.viewer.audit(job),
        "paused": row is not None and row.paused,
    }


async def _links(view: View, chain_id: str, jobs: list[Job]) -> Links:
    """What the jobs of the chain are connected to, as far as the viewer may see it."""
    blockers: dict[str, tuple[list[Chain[Any]], int]] = {}
    for job in [job for job in jobs if job.record.blockers][-MOST_WITH_BLOCKERS:]:
        found, hidden = await view.viewer.blockers(job)
        # What keeps the job waiting comes first.
        blockers[job.id] = sorted(found, key=lambda chain: chain.status is Status.COMPLETED), hidden
    origin = jobs[0].origin
    return Links(
        blockers,
        await view.viewer.started(jobs, MOST_STARTED),
        await view.viewer.dependents(chain_id, MOST_DEPENDENTS),
        None if origin is None else await view.viewer.get_job(origin),
    )


async def _schedule(view: View, first: Job) -> str | None:
    """The schedule whose tick started the chain, if it exists and the viewer may see it."""
    name = schedule_of(first.id)
    return name if name is not None and await find_schedule(view, name) is not None else None


async def download(view: View) -> Response:
    """An input or output, complete."""
    job = await view.viewer.get_job(view.query.get("id", ""))
    field: Field = "output" if view.query.get("field") == "output" else "input"
    stored = None if job is None else job.record.input if field == "input" else job.record.output
    if stored is None:
        raise HTTPException(404)
    headers = {"Content-Disposition": f'attachment; filename="{field}.json"'}
    return PlainTextResponse(view.redaction.whole(stored, field), headers=headers)


def _selected(view: View, jobs: list[Job]) -> Job:
    """The job whose details are shown: the current one unless the URL names another."""
    wanted = view.query.get("job")
    return next((job for job in jobs if job.id == wanted), jobs[-1])


def _text(view: View, explanation: Explanation | None) -> str:
    if explanation is None:
        return ""
    error = explanation.job.error
    # The reasons contain the text of the error, which must be redacted.
    return explanation.text if error is None else explanation.text.replace(str(error), view.redaction.error(error))


def _holds_order(job: Job) -> bool:
    """Whether a failed job of this kind holds an order. It may have been skipped already."""
    lanes = lanes_of(job.record.details)
    return lanes is not None and any(rule.kind == "order" and rule.hold for rule in lanes.rules)


def _possible(job: Job, current: Job, *, whole: bool) -> dict[str, bool]:
    """Which changes make sense in this state. `whole`: the viewer may see the first and the last job."""
    return {
        "retry": job.status in (Status.FAILED, Status.CANCELLED),
        "skip": job.status is Status.FAILED and _holds_order(job),
        "run_now": shown_status(job) == "scheduled",
        "cancel": whole and not current.status.finished,
        "delete": whole and current.status is not Status.RUNNING,
    }


ROUTES = [get("/download", download), get("/chains/{id:path}", show)]
