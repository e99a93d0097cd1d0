"""What is wrong, in sentences with a link, the worst first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from holdfast.client.client_calls import Stats
from holdfast.client.schedule_findings import schedule_findings
from holdfast.client.unserved import external_types, served_types
from holdfast.core.clock import to_datetime
from holdfast.core.counter_report import Counters
from holdfast.core.schedule import Schedule
from holdfast.core.worker_record import LiveWorker
from holdfast.dashboard.query import Term
from holdfast.dashboard.text import seconds
from holdfast.engine.operations import Finding

LATE = 300.0
"""Seconds after which a due job counts as late."""
OFTEN = 0.05
"""The share of failures in the last hour above which they are reported."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A sentence, and the page that shows more: its path, and its query if it is a list."""

    level: Literal["warning", "error"]
    text: str
    path: str
    query: str = ""


def problems(
    stats: Stats,
    counters: Counters,
    workers: Collection[LiveWorker],
    schedules: Sequence[Schedule],
    findings: Sequence[Finding],
    external: Collection[str],
    now: datetime | None = None,
) -> list[Problem]:
    """All that is wrong. `external` are the types that the application declares without a handler."""
    now = now or datetime.now(UTC)
    served, outside = served_types(workers), {*external, *external_types(workers)}
    found = [Problem("error", f"{each.subject}: {each.detail}.", "/") for each in findings if each.level == "error"]
    waiting = {name: row for name, row in stats.types.items() if row.due and name not in outside}
    unserved = {name: row.due for name, row in waiting.items() if not row.paused and name not in served}
    if unserved and not workers:
        found.append(Problem("error", f"{_due(sum(unserved.values()))}, and no worker is live.", "/workers"))
    else:
        found += [
            Problem("error", f"{_due(due, name)}, and no live worker runs this type.", "/jobs", _pending(name))
            for name, due in sorted(unserved.items(), key=lambda each: -each[1])
        ]
    late = [
        (now - to_datetime(row.oldest_due), name)
        for name, row in waiting.items()
        if row.oldest_due is not None and not row.paused and name in served
    ]
    if late and (longest := max(late))[0].total_seconds() > LATE:
        waits = seconds(longest[0].total_seconds() // 1)
        found.append(
            Problem("warning", f"A job of {longest[1]} has been due for {waits}.", "/jobs", _pending(longest[1]))
        )
    counts = counters.counts
    ended = counts.completed + counts.failed
    if counts.failed and counts.failed > ended * OFTEN:
        share = f"{counts.failed / ended:.0%} of those that ended"
        found.append(Problem("warning", f"{counts.failed:,} jobs failed in the last hour, {share}.", "/errors"))
    found += [
        Problem("warning", f"{name} is paused, and {_due(row.due)}.", "/jobs", _pending(name))
        for name, row in waiting.items()
        if row.paused
    ]
    for each in schedule_findings(schedules, workers):
        found.append(Problem("warning", f"{each.subject}: {each.detail}.", "/schedules"))
    found += [
        Problem("warning", f"{each.subject}: {each.detail}.", "/")
        for each in findings
        if each.level == "warning" and each.subject not in stats.types
    ]
    return found


def _pending(name: str) -> str:
    return f"{Term('type', name)} status:pending"


def _due(count: int, type: str | None = None) -> str:
    of = "" if type is None else f" of {type}"
    return f"1 job{of} is due" if count == 1 else f"{count:,} jobs{of} are due"
