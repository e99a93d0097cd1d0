"""Overview: what happens now, what happened in the last hour or day, and what is wrong."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.responses import Response

from holdfast.client.client_calls import Stats
from holdfast.client.unserved import external_types, for_workers
from holdfast.core.clock import to_datetime
from holdfast.core.counter_report import Counters
from holdfast.core.counters import Counts
from holdfast.core.schedule import Schedule
from holdfast.dashboard.problems import problems
from holdfast.dashboard.query import Term
from holdfast.dashboard.routing import NavigationEntry, get
from holdfast.dashboard.view import View
from holdfast.engine.operations import TypeStats

MOST_TYPES = 50
MOST_PROBLEMS = 8


@dataclass(frozen=True, slots=True)
class TypeRow:
    """A job type with its numbers. `query` selects its jobs."""

    name: str
    stats: TypeStats
    recent: Counts
    query: str
    external: bool
    """No worker runs it: its due jobs wait for a completion from outside."""

    @property
    def due(self) -> int:
        """The jobs that wait for a worker."""
        return 0 if self.external else self.stats.due

    @property
    def oldest_due(self) -> datetime | None:
        since = None if self.external else self.stats.oldest_due
        return None if since is None else to_datetime(since)


async def show(view: View) -> Response:
    day = view.query.get("period") == "day"
    viewer = view.viewer
    stats = await viewer.stats()
    recent = await viewer.counters()
    charts, since = await viewer.charts(day=day)
    workers = await viewer.workers()
    schedules = await viewer.schedules()
    declared = [job_type.name for job_type in view.settings.client.jobs if job_type.function is None]
    external = external_types(workers, declared)
    waiting = for_workers(stats.types, external)
    wrong = problems(stats, recent, workers, schedules, await viewer.findings_or_none(), external)
    oldest = min((row.oldest_due for row in waiting.values() if row.oldest_due), default=None)
    types = _types(stats, recent, external)
    return view.page(
        "overview.html",
        day=day,
        mark="~" if viewer.approximate else "",
        stats=stats,
        due=sum(row.due for row in waiting.values()),
        scheduled=sum(row.scheduled for row in stats.types.values()),
        oldest_due=None if oldest is None else to_datetime(oldest),
        recent=recent.counts,
        workers=workers,
        busy=sum(worker.busy for worker in workers),
        slots=sum(worker.concurrency for worker in workers),
        schedules=schedules,
        next_tick=_next_tick(schedules),
        problems=wrong[:MOST_PROBLEMS],
        more_problems=max(0, len(wrong) - MOST_PROBLEMS),
        charts=charts,
        since=since,
        until=recent.until,
        types=types[:MOST_TYPES],
        more_types=max(0, len(types) - MOST_TYPES),
        live=view.live(),
    )


def _types(stats: Stats, counters: Counters, external: Collection[str]) -> list[TypeRow]:
    """All types: those with due jobs first, then those with the most work in the last hour."""
    empty = Counts()
    rows = [
        TypeRow(
            name,
            row,
            found.counts if (found := counters.types.get(name)) else empty,
            query=str(Term("type", name)),
            external=name in external,
        )
        for name, row in stats.types.items()
    ]
    return sorted(rows, key=lambda row: (-row.due, -row.recent.completed - row.recent.failed, row.name))


def _next_tick(schedules: list[Schedule]) -> datetime | None:
    now = datetime.now(UTC)
    return min((each.next_at for each in schedules if not each.paused and each.next_at > now), default=None)


NAVIGATION = NavigationEntry("Overview", "/")
ROUTES = [get("/", show)]
