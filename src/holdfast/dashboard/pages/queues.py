"""Queues: named queues in their own terms, and the jobs of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from starlette.exceptions import HTTPException
from starlette.responses import Response

from holdfast.core.clock import to_datetime
from holdfast.core.job import Job
from holdfast.core.record import Status
from holdfast.dashboard.routing import NavigationEntry, get, post
from holdfast.dashboard.view import View
from holdfast.engine.operations import Filter, ListChains, ListJobs, TypeStats
from holdfast.queue.answers import STATUSES, State, state_of
from holdfast.queue.queue_type import PREFIX

STATES: tuple[State, ...] = get_args(State)
FAILING_READ = 1000
PAGE = 50


@dataclass(frozen=True, slots=True)
class QueueRow:
    """How many jobs of a queue are in each state. `more`: there are more failing jobs, and fewer queued ones."""

    name: str
    queued: int
    processing: int
    failing: int
    more: bool
    scheduled: int
    completed: int
    failed: int
    due: int
    oldest_due: datetime | None
    paused: bool


@dataclass(frozen=True, slots=True)
class QueueJobRow:
    """A job of a queue."""

    job: Job
    id: str
    state: State
    error: str


async def show(view: View) -> Response:
    """All queues that the viewer may see."""
    stats = await view.viewer.stats()
    queues = [(name.removeprefix(PREFIX), row) for name, row in sorted(stats.types.items()) if name.startswith(PREFIX)]
    rows = [await _row(view, name, row) for name, row in queues]
    return view.page("queues.html", rows=rows, live=view.live())


async def show_one(view: View) -> Response:
    """The jobs of one queue, newest first, in one state or in any."""
    name = view.query.get("name", "")
    stats = (await view.viewer.stats()).types.get(PREFIX + name)
    if stats is None:
        raise HTTPException(404)
    wanted = view.query.get("state")
    state = wanted if wanted in STATES else None
    jobs, cursor = await _jobs(view, name, state, view.query.get("cursor"))
    return view.page(
        "queue.html", row=await _row(view, name, stats), jobs=jobs, state=state, states=STATES, cursor=cursor,
        live="" if view.query.get("cursor") else view.live(),
    )  # fmt: skip


async def pause(view: View) -> Response:
    name = (await view.form()).get("name", "")
    await view.operator.pause(PREFIX + name)
    return view.back(view.url("/queues"), f"{name} is paused: running jobs continue.")


async def resume(view: View) -> Response:
    name = (await view.form()).get("name", "")
    await view.operator.resume(PREFIX + name)
    return view.back(view.url("/queues"), f"{name} is resumed.")


async def _row(view: View, name: str, stats: TypeStats) -> QueueRow:
    pending = stats.counts.get(Status.PENDING, 0)
    failing, more = 0, False
    if pending:
        # No counter separates failing jobs from queued ones, so some are read.
        found = await view.viewer.read(
            view.settings.client.store.perform(
                ListJobs(Filter(types=(PREFIX + name,), failing=True), FAILING_READ, may_lag=True, scan=FAILING_READ)
            )
        )
        failing, more = min(len(found), pending), found.next_before is not None
    return QueueRow(
        name=name,
        queued=stats.counts.get(Status.BLOCKED, 0) + pending - failing,
        processing=stats.counts.get(Status.RUNNING, 0),
        failing=failing,
        more=more,
        scheduled=stats.scheduled,
        completed=stats.counts.get(Status.COMPLETED, 0),
        failed=stats.counts.get(Status.FAILED, 0),
        due=stats.due,
        oldest_due=None if stats.oldest_due is None else to_datetime(stats.oldest_due),
        paused=stats.paused,
    )


async def _jobs(
    view: View, name: str, state: State | None, cursor: str | None
) -> tuple[Sequence[QueueJobRow], str | None]:
    digits = 4000 if view.settings.client.store.sharded else 18
    before = int(cursor) if cursor and cursor.isascii() and cursor.isdecimal() and len(cursor) <= digits else None
    statuses = tuple(dict.fromkeys(status for each in ((state,) if state else STATES) for status in STATUSES[each]))
    failing = state == "failing" if state in ("queued", "failing") else None
    shown = Filter(types=(PREFIX + name,), statuses=statuses, failing=failing, kept=True)
    client = view.settings.client
    found = await view.viewer.read(client.store.perform(ListChains(shown, PAGE, before, may_lag=True)))
    rows: list[QueueJobRow] = []
    for chain in found:
        job, its_state = Job(chain.last, client.jobs), state_of(chain.last)
        if its_state is not None:
            rows.append(QueueJobRow(job, job.key or job.id, its_state, view.redaction.error(job.error)))
    return rows, None if found.next_before is None else str(found.next_before)


NAVIGATION = NavigationEntry("Queues", "/queues")
ROUTES = [
    get("/queues", show),
    get("/queues/one", show_one),
    post("/queues/pause", pause, role="operate"),
    post("/queues/resume", resume, role="operate"),
]
