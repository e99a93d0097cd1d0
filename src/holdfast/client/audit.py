"""Read what operators changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.references import job_id
from holdfast.core.clock import to_datetime, to_micros
from holdfast.core.job import AuditEntry, Chain, Job
from holdfast.core.record import Record
from holdfast.engine.operations import AuditRow, GetAudit, GetJobs
from holdfast.engine.procedures import Procedure


class AuditMethods(Capability):
    """The audit, async."""

    async def audit(
        self,
        job: Job | Chain[Any] | str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        *,
        tx: Any = None,
    ) -> list[AuditEntry]:
        """What operators changed in the last 90 days, newest first.

        With `job`, the changes of this job or chain and of the whole chain to which it belongs. With `since`, the
        changes of this time and later.
        """
        return await self._run(_audit(job, since, limit), tx)


class SyncAuditMethods(SyncCapability):
    """The audit, blocking."""

    def audit(
        self,
        job: Job | Chain[Any] | str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        *,
        tx: Any = None,
    ) -> list[AuditEntry]:
        """What operators changed in the last 90 days, newest first.

        With `job`, the changes of this job or chain and of the whole chain to which it belongs. With `since`, the
        changes of this time and later.
        """
        return self._run(_audit(job, since, limit), tx)


def _audit(subject: Job | Chain[Any] | str | None, since: datetime | None, limit: int) -> Procedure[list[AuditEntry]]:
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    moment = None if since is None else to_micros(since)
    about: tuple[str, ...] = ()
    if subject is not None:
        about = yield from _about(subject)
    rows: list[AuditRow] = yield GetAudit(limit, about, moment)
    return [AuditEntry(to_datetime(row.at), row.user, row.action, row.target, row.reason) for row in rows]


def _about(subject: Job | Chain[Any] | str) -> Procedure[tuple[str, ...]]:
    """The ids of a job and of its chain. Of a deleted one only the given id is known."""
    match subject:
        case Job():
            return subject.id, subject.chain_id
        case Chain():
            return (subject.id,)
        case _:
            found: list[Record | None] = yield GetJobs((job_id(subject),))
            return tuple(dict.fromkeys([subject, *(job.chain_id for job in found if job is not None)]))
