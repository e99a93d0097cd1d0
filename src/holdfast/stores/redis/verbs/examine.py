"""Finds late jobs for `holdfast doctor`: expired leases and the oldest due job."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from holdfast.core.clock import Micros
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Filter, Finding, GetStats, ListJobs, Operation, TypeStats
from holdfast.stores import held_orders
from holdfast.stores import late_jobs as late_jobs_module
from holdfast.stores.redis.verbs.limits import HeldOrders

_PAGE = 1000
_CHECKED = 100
"""How many failed jobs with lanes are checked."""


def late_jobs(now: Micros) -> Generator[Operation[Any], Any, list[Finding]]:
    """A procedure: yields the operations whose results it needs, and returns the findings."""
    stats: Sequence[TypeStats] = yield GetStats()
    ended: list[Micros] = []
    before: int | None = None
    while True:
        page: Sequence[Record] = yield ListJobs(Filter(statuses=(Status.RUNNING,)), _PAGE, before)
        ended += [each.leased_until for each in page if each.leased_until is not None and each.leased_until < now]
        if len(page) < _PAGE:
            break
        before = page[-1].seq
    failed: Sequence[Record] = yield ListJobs(Filter(statuses=(Status.FAILED,)), _PAGE)
    ids = tuple(job.id for job in failed if job.details is not None and '"lanes":' in job.details)
    held: Sequence[tuple[str, str]] = (yield HeldOrders(ids[:_CHECKED])) if ids else ()
    due = [(each.oldest_due, each.type) for each in stats if each.oldest_due is not None and not each.paused]
    since, type = min(due, default=(None, None))
    return [
        late_jobs_module.expired(len(ended), now - min(ended) if ended else None),
        late_jobs_module.oldest(type, None if since is None else max(0, now - since)),
        *held_orders.findings(held[: held_orders.SHOWN]),
    ]
