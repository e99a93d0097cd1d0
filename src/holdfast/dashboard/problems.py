"""What is wrong, in sentences with a link, the worst first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from holdfast.client.client_calls import Stats
from holdfast.client.schedule_findings import schedule_findings
from holdfast.client.unserved import served_types, without_external
from holdfast.core.clock import to_datetime
from holdfast.core.counter_report import Counters
from holdfast.core.schedule import Schedule
from holdfast.core.worker_record import LiveWorker
from holdfast.dashboard.query import Term
from holdfast.dashboard.text import seconds
from holdfast.engine.operations import Finding, TypeStats

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
) -> list[Problem]:
    """All that is wrong. No worker runs the `external` types: their jobs wait for a completion from outside."""
    waiting = {name: row for name, row in stats.types.items() if row.due and name not in external}
    findings = without_external(findings, stats.types, external, datetime.now(UTC))
    return [
        *[Problem("error", f"{each.subject}: {each.detail}.", "/") for each in findings if each.level == "error"],
        *_unserved(waiting, workers),
        *_late(waiting, workers),
        *_failures(counters),
        *_paused(waiting),
        *[
            Problem("warning", f"{each.subject}: {each.detail}.", "/schedules")
            for each in schedule_findings(schedules, workers)
        ],
        *[
            Problem("warning", f"{each.subject}: {each.detail}.", "/")
            for each in findings
            if each.level == "warning" and each.subject not in stats.types
        ],
    ]


def _unserved(waiting: Mapping[str, TypeStats], workers: Collection[LiveWorker]) -> list[Problem]:
    """Types with due jobs that no live worker runs."""
    served = served_types(workers)
    unserved = {name: row.due for name, row in waiting.items() if not row.paused and name not in served}
    if unserved and not workers:
        return [Problem("error", f"{_due(sum(unserved.values()))}, and no worker is live.", "/workers")]
    return [
        Problem("error", f"{_due(due, name)}, and no live worker runs this type.", "/jobs", _pending(name))
        for name, due in sorted(unserved.items(), key=lambda each: -each[1])
    ]


def _late(waiting: Mapping[str, TypeStats], workers: Collection[LiveWorker]) -> list[Problem]:
    """The job that has been due for the longest time, although a worker runs its type."""
    served, now = served_types(workers), datetime.now(UTC)
    late = [
        (now - to_datetime(row.oldest_due), name)
        for name, row in waiting.items()
        if row.oldest_due is not None and not row.paused and name in served
    ]
    if not late:
        return []
    longest, name = max(late)
    if longest.total_seconds() <= LATE:
        return []
    waits = seconds(longest.total_seconds() // 1)
    return [Problem("warning", f"A job of {name} has been due for {waits}.", "/jobs", _pending(name))]


def _failures(counters: Counters) -> list[Problem]:
    counts = counters.counts
    ended = counts.completed + counts.failed
    if not counts.failed or counts.failed <= ended * OFTEN:
        return []
    share = f"{counts.failed / ended:.0%} of those that ended"
    return [Problem("warning", f"{counts.failed:,} jobs failed in the last hour, {share}.", "/errors")]


def _paused(waiting: Mapping[str, TypeStats]) -> list[Problem]:
    return [
        Problem("warning", f"{name} is paused, and {_due(row.due)}.", "/jobs", _pending(name))
        for name, row in waiting.items()
        if row.paused
    ]


def _pending(name: str) -> str:
    return f"{Term('type', name)} status:pending"


def _due(count: int, type: str | None = None) -> str:
    of = "" if type is None else f" of {type}"
    return f"1 job{of} is due" if count == 1 else f"{count:,} jobs{of} are due"
