"""The SQL condition for jobs that wait for another attempt after a failure, or for all other jobs."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.record import Status
from holdfast.engine.operations import Filter


def narrowed_statuses(wanted: Filter, statuses: Sequence[Status | None]) -> list[Status | None]:
    """The statuses that match the filter; `[None]` means any status. Only a pending job can be failing."""
    given = list(statuses)
    if wanted.failing is None:
        return given
    if wanted.failing:
        return [Status.PENDING] if given == [None] or Status.PENDING in given else []
    return list(Status) if given == [None] else given


def failing(wanted: Filter, status: Status | None, job: str) -> str:
    """The condition on a row with this alias and status. See `holdfast.core.record.is_failing`."""
    if wanted.failing is None or status is not Status.PENDING:
        return ""
    return f" and {'' if wanted.failing else 'not '}({job}.attempt > 0 and {job}.error is not null)"
