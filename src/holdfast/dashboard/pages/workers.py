"""Workers: the live workers, what each runs and since when, and the draining of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from holdfast.core.job import Job
from holdfast.core.worker_record import LiveWorker
from holdfast.dashboard.operator import Forbidden
from holdfast.dashboard.routing import NavigationEntry, get, post
from holdfast.dashboard.view import View
from holdfast.errors import WorkerNotFound

RUNNING_READ = 1000


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker with its running jobs, the longest first."""

    worker: LiveWorker
    jobs: Sequence[Job]
    types: Sequence[str]
    may_drain: bool


async def show(view: View) -> Response:
    workers = await view.viewer.workers()
    running = await view.viewer.list_jobs(status=["running"], limit=RUNNING_READ)
    held: dict[str | None, list[Job]] = {}
    for job in reversed(running.items):
        held.setdefault(job.worker, []).append(job)
    rows = [
        WorkerRow(
            worker,
            held.pop(worker.id, []),
            [type for type in worker.types if view.access.sees(type)],
            view.access.may("admin") and view.access.sees(*worker.types),
        )
        for worker in workers
    ]
    hosts = {(row.worker.host, row.worker.pid) for row in rows}
    return view.page(
        "workers.html", rows=rows, processes=len(hosts), gone=held, most=RUNNING_READ,
        complete=running.next_cursor is None, live=view.live(),
    )  # fmt: skip


async def drain(view: View) -> Response:
    """Ask a worker to stop."""
    id = (await view.form()).get("id", "")
    back = view.url("/workers")
    worker = next((each for each in await view.viewer.workers() if each.id == id), None)
    if worker is None:
        return view.back(back, str(WorkerNotFound(id)), problem=True)
    if not view.access.sees(*worker.types):
        raise Forbidden("admin")
    with view.operator.acting("admin") as client:
        try:
            await client.drain_worker(id)
        except WorkerNotFound as error:
            return view.back(back, str(error), problem=True)
    return view.back(back, f"The worker {id} claims no more jobs and stops when the running ones have ended.")


NAVIGATION = NavigationEntry("Workers", "/workers")
ROUTES = [get("/workers", show), post("/workers/drain", drain, role="admin")]
