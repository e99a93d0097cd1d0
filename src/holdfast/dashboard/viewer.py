"""Reads for one viewer: the calls of the client, restricted to what the viewer may see, and with a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict, TypeVar, Unpack

from holdfast.client.client import Client
from holdfast.client.client_calls import Stats
from holdfast.core.counter_report import Counters, FrequentError
from holdfast.core.explanation import Explanation
from holdfast.core.job import AuditEntry, Chain, Job, Page, Report
from holdfast.core.record import Status
from holdfast.core.schedule import Schedule
from holdfast.core.step_report import Step
from holdfast.core.worker_record import LiveWorker
from holdfast.dashboard.access import Access
from holdfast.dashboard.charts import Chart
from holdfast.dashboard.shared import Shared
from holdfast.engine.operations import Finding
from holdfast.registry.options import MAX_TEXT

R = TypeVar("R")

READ_TIMEOUT = 3.0
"""Seconds that one read may take."""


FINDINGS_TIMEOUT = 0.03
"""Seconds that a page waits for the findings of `doctor`, which may need seconds in a large store."""


class ReadTooSlow(Exception):
    """A read took longer than `READ_TIMEOUT`: the viewer should narrow the filter."""


_GENERAL = {
    "blocked": "It waits for other chains to complete.",
    "limit": "A limit does not let it start yet.",
    "order": "An order does not let it start yet.",
}
"""For viewers of some types: the texts of these reasons name chains of any type."""


class ListFilters(TypedDict, total=False):
    """The filters of `list_jobs` and `list_chains`."""

    status: Sequence[str]
    type: Sequence[str]
    key: str
    created_since: datetime
    created_until: datetime
    failed_since: datetime
    finished_since: datetime
    error: str
    worker: str
    fingerprint: str


class Viewer:
    """What pages read. Everything that is returned is of types that the viewer may see.

    A page uses this object and not the client, so that no page can forget the restriction.
    """

    def __init__(self, client: Client, access: Access, shared: Shared, *, timeout: float = READ_TIMEOUT) -> None:
        self.client = client
        self.access = access
        self._shared = shared
        self._timeout = timeout

    async def read(self, reading: Awaitable[R], *, most: float = float("inf")) -> R:
        """Await a read of the client. Raises ReadTooSlow after the timeout, or after `most` seconds."""
        try:
            async with asyncio.timeout(min(self._timeout, most)):
                return await reading
        except TimeoutError:
            raise ReadTooSlow from None

    # Jobs and chains

    async def list_jobs(
        self, *, cursor: str | None = None, limit: int = 50, chain: str | None = None, **filters: Unpack[ListFilters]
    ) -> Page[Job]:
        """Jobs of the types that the viewer may see, newest first."""
        types = self.types(filters.get("type"))
        if (types is not None and not types) or (chain is not None and not is_id(chain)):
            return Page([], None)
        restricted: ListFilters = {**filters, "type": types} if types is not None else filters
        return await self.read(self.client.list_jobs(cursor=cursor, limit=limit, chain=chain, **restricted))

    async def list_chains(
        self, *, cursor: str | None = None, limit: int = 50, **filters: Unpack[ListFilters]
    ) -> Page[Chain[Any]]:
        """Chains whose first and last job have types that the viewer may see, newest first."""
        types = self.types(filters.get("type"))
        if types is not None and not types:
            return Page([], None)
        restricted: ListFilters = {**filters, "type": types} if types is not None else filters
        allowed = self.access.allowed_types
        first = None if allowed is None else sorted(allowed)
        return await self.read(self.client.list_chains(cursor=cursor, limit=limit, chain_type=first, **restricted))

    async def get_chain(self, chain_id: str) -> Chain[Any] | None:
        """A chain whose first and last job the viewer may see."""
        chain = await self.read(self.client.get(chain_id)) if is_id(chain_id) else None
        return chain if chain is not None and self.access.sees(chain.type, chain.job.type) else None

    async def get_job(self, job_id: str) -> Job | None:
        job = await self.read(self.client.get_job(job_id)) if is_id(job_id) else None
        return job if job is not None and self.access.sees(job.type) else None

    async def report(self, job: Job) -> Report | None:
        """The attempts of a job that the viewer may see."""
        return await self.read(self.client.report(job)) if self.access.sees(job.type) else None

    async def steps(self, job: Job) -> Sequence[Step]:
        """The finished steps of a job that the viewer may see."""
        return await self.read(self.client.steps(job)) if self.access.sees(job.type) else []

    async def explain(self, job: Job) -> Explanation | None:
        """Why a job that the viewer may see is in its state. Other types are not named."""
        if not self.access.sees(job.type):
            return None
        explanation = await self.read(self.client.explain(job))
        if explanation is None or self.access.allowed_types is None:
            return explanation
        reasons = [replace(each, text=_GENERAL.get(each.kind, each.text)) for each in explanation.reasons]
        return replace(explanation, reasons=reasons)

    async def blockers(self, job: Job) -> tuple[list[Chain[Any]], int]:
        """The blockers of a job that the viewer may see, and how many others there are."""
        chains = await self.read(self.client.blockers(job))
        seen = [each for each in chains if self.access.sees(each.type, each.job.type)]
        return seen, len(chains) - len(seen)

    async def started(self, jobs: Sequence[Job], limit: int) -> dict[str, tuple[list[Chain[Any]], int]]:
        """By the id of the job: the chains that it started and the viewer may see, and how many others there are."""
        groups: dict[str, tuple[list[Chain[Any]], int]] = {}
        for chain in await self.read(self.client.started(*jobs, limit=limit)):
            seen, hidden = groups.get(origin := chain.first_job.origin or "", ([], 0))
            if self.access.sees(chain.type, chain.job.type):
                groups[origin] = [*seen, chain], hidden
            else:
                groups[origin] = seen, hidden + 1
        return groups

    async def dependents(self, chain_id: str, limit: int) -> list[Job]:
        """Unfinished jobs that wait for a chain, of the types that the viewer may see."""
        jobs = await self.read(self.client.dependents(chain_id, limit=limit))
        return [each for each in jobs if self.access.sees(each.type)]

    async def audit(self, job: Job) -> list[AuditEntry]:
        """What operators changed at a job that the viewer may see."""
        return await self.read(self.client.audit(job, limit=20)) if self.access.sees(job.type) else []

    # Numbers

    async def stats(self) -> Stats:
        """Counts by status and type."""
        stats = await self.read(self._shared.stats.get())
        if self.access.allowed_types is None:
            return stats
        types = {name: row for name, row in stats.types.items() if self.access.sees(name)}
        return Stats({status: sum(row.counts.get(status, 0) for row in types.values()) for status in Status}, types)

    @property
    def approximate(self) -> bool:
        """Whether the numbers of `stats` are some seconds old, because the store needs long to count."""
        return self._shared.stats.is_old

    async def stats_or_none(self) -> Stats | None:
        """The counts for pages that work without them: None if the store does not answer in time."""
        try:
            return await self.stats()
        except ReadTooSlow:
            return None

    async def counters(self) -> Counters:
        """What happened to jobs in the last hour."""
        counters = await self.read(self._shared.hour.get())
        types = {name: each for name, each in counters.types.items() if self.access.sees(name)}
        return replace(counters, types=types)

    async def charts(self, *, day: bool) -> tuple[list[Chart], datetime]:
        """What happened to jobs per minute of the last hour, or per ten minutes of the last day, and since when."""
        counters = await self.read((self._shared.day if day else self._shared.hour).get())
        return self._shared.charts(counters, self.access.allowed_types, day=day), counters.since

    async def errors(self, since: datetime | None = None, limit: int = 50) -> list[FrequentError]:
        types = self.types(None)
        if types is not None and not types:
            return []
        return await self.read(self.client.errors(since, types, limit))

    async def workers(self) -> list[LiveWorker]:
        """The live workers that run at least one type that the viewer may see."""
        workers = await self.read(self.client.workers())
        return [each for each in workers if self.access.allowed_types is None or any(map(self.access.sees, each.types))]

    async def schedules(self) -> list[Schedule]:
        """The schedules of types that the viewer may see."""
        return [each for each in await self.read(self.client.schedules()) if self.access.sees(each.type)]

    async def findings_or_none(self) -> Sequence[Finding]:
        """The findings for a page that works without them: none if the check takes long."""
        try:
            return await self.findings()
        except ReadTooSlow:
            return []

    async def findings(self) -> Sequence[Finding]:
        """What `doctor` finds in the store. Only for viewers of all types: the texts name types and chains."""
        if self.access.allowed_types is not None:
            return []
        # A check may take seconds. It continues, and the next page shows what it finds.
        return await self.read(self._shared.findings.get(), most=FINDINGS_TIMEOUT)

    def types(self, wanted: Sequence[str] | None) -> list[str] | None:
        """The types to ask for. None means all, and an empty list means none."""
        allowed = self.access.allowed_types
        if allowed is None:
            return list(wanted) if wanted else None
        return sorted(allowed.intersection(wanted) if wanted else allowed)


def is_id(text: str) -> bool:
    """Whether a job or chain can have this id. The client refuses other texts."""
    return 0 < len(text) <= MAX_TEXT and "\0" not in text
