"""What the lists of jobs and of chains share: the query, the tabs by status, the columns and the pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from starlette.responses import Response

from holdfast.client.client_calls import Stats
from holdfast.core.job import Job, Page
from holdfast.core.record import Status
from holdfast.dashboard.query import EXAMPLE, Query
from holdfast.dashboard.view import View
from holdfast.dashboard.viewer import ReadTooSlow

T = TypeVar("T")

PAGE_SIZE = 50

COLUMNS: Mapping[str, Sequence[str]] = {
    "blocked": ("waits_for", "created"),
    "pending": ("attempt", "error", "due", "created"),
    "scheduled": ("attempt", "due", "created"),
    "running": ("worker", "attempt", "progress", "running_since"),
    "completed": ("worker", "ran", "finished"),
    "failed": ("error", "attempt", "finished"),
    "cancelled": ("error", "finished"),
}
"""The columns of a list of one status. A list of several statuses has `MIXED`."""
MIXED = ("status", "error", "attempt", "created", "finished")
TITLES = {
    "attempt": "Attempt",
    "created": "Created",
    "due": "Due",
    "error": "Error",
    "finished": "Finished",
    "progress": "Progress",
    "ran": "Run time",
    "running_since": "Since",
    "status": "Status",
    "waits_for": "Waits for",
    "worker": "Worker",
}


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to the same list with another status."""

    title: str
    url: str
    count: str | None
    current: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A job, or a chain with its current job, as the list shows it."""

    job: Job
    id: str
    type: str
    key: str | None
    url: str
    error: str

    @property
    def shown_status(self) -> str:
        return shown_status(self.job)


async def read_page(query: Query, read: Callable[[], Awaitable[Page[T]]]) -> tuple[Page[T], bool]:
    """A page of the list, and whether the store was too slow to read it. A refused filter is a problem of the query."""
    if not query.problems:
        try:
            return await read(), False
        except ReadTooSlow:
            return Page([], None), True
        except ValueError as error:
            query.problems.append(str(error))
    return Page([], None), False


def show_page(
    view: View,
    title: str,
    path: str,
    query: Query,
    page: Page[Any],
    rows: Sequence[Row],
    *,
    slow: bool,
    stats: Stats | None,
) -> Response:
    """The list with its tabs, and links to its other pages."""
    return view.page(
        "list.html",
        title=title,
        path=path,
        text=view.query.get("q", ""),
        query=query,
        example=EXAMPLE,
        rows=rows,
        columns=columns(query),
        titles=TITLES,
        tabs=tabs(view, path, query, stats),
        next=view.url(path, q=str(query), cursor=page.next_cursor) if page.next_cursor else None,
        first=view.url(path, q=str(query)) if view.query.get("cursor") else None,
        slow=slow,
        live=view.live(),
    )


def shown_status(job: Job) -> str:
    """The status of a job; "scheduled" if it is pending and due later, or when a message arrives."""
    due = job.scheduled_at
    later = due is None or due > datetime.now(UTC)
    return "scheduled" if job.status is Status.PENDING and later else str(job.status)


def columns(query: Query) -> Sequence[str]:
    """The columns for the statuses of a query."""
    statuses = query.filters.get("status", ())
    return COLUMNS[statuses[0]] if len(statuses) == 1 else MIXED


def tabs(view: View, path: str, query: Query, stats: Stats | None) -> list[Tab]:
    """One tab per status. They have numbers if the query restricts nothing but types: the store counts by type."""
    chosen = query.filters.get("status", ())
    counts = _counts(query, stats) if stats is not None and query.only <= {"type", "status"} else {}
    mark = "~" if view.viewer.approximate else ""
    total = sum(count for status, count in counts.items() if status != "scheduled")
    first = Tab(
        "All", view.url(path, q=query.with_term("status", None)), f"{mark}{total:,}" if counts else None, not chosen
    )
    names = ("running", "pending", "scheduled", "blocked", "failed", "cancelled", "completed")
    return [
        first,
        *(
            Tab(
                name,
                view.url(path, q=query.with_term("status", name)),
                _number(counts.get(name), mark),
                list(chosen) == [name],
            )
            for name in names
        ),
    ]


def _counts(query: Query, stats: Stats) -> dict[str, int]:
    wanted = query.filters.get("type")
    rows = [row for name, row in stats.types.items() if not wanted or name in wanted]
    counts = {str(status): sum(row.counts.get(status, 0) for row in rows) for status in Status}
    return {**counts, "scheduled": sum(row.scheduled for row in rows)}


def _number(count: int | None, mark: str) -> str | None:
    return None if count is None else f"{mark}{count:,}"
