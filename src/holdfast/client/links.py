"""Read what a job waits for, what waits for a chain, and which chains a job started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.references import chain_id, job_id
from holdfast.core.job import Chain, Job
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import GetBlockers, GetChains, GetDependents, GetStarted
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Jobs


class LinkMethods(Capability):
    """Blockers, dependents and started chains, async."""

    async def blockers(self, job: Job | str, *, tx: Any = None) -> list[Chain[Any]]:
        """The chains that a job waits for or waited for, in the order in which they were given to `after`."""
        return await self._run(_blockers(self.jobs, job), tx)

    async def dependents(self, chain: Chain[Any] | Job | str, *, limit: int = 100, tx: Any = None) -> list[Job]:
        """Unfinished jobs that have the chain among their blockers, oldest first."""
        return await self._run(_dependents(self.jobs, chain, limit), tx)

    async def started(self, *jobs: Job | str, limit: int = 100, tx: Any = None) -> list[Chain[Any]]:
        """The chains that these jobs started in their completion, or as their failure hook, oldest first.

        The chain of a start that found an existing chain is not among them. `chain.first_job.origin` is the job.
        """
        return await self._run(_started(self.jobs, jobs, limit), tx)


class SyncLinkMethods(SyncCapability):
    """Blockers, dependents and started chains, blocking."""

    def blockers(self, job: Job | str, *, tx: Any = None) -> list[Chain[Any]]:
        """The chains that a job waits for or waited for, in the order in which they were given to `after`."""
        return self._run(_blockers(self.jobs, job), tx)

    def dependents(self, chain: Chain[Any] | Job | str, *, limit: int = 100, tx: Any = None) -> list[Job]:
        """Unfinished jobs that have the chain among their blockers, oldest first."""
        return self._run(_dependents(self.jobs, chain, limit), tx)

    def started(self, *jobs: Job | str, limit: int = 100, tx: Any = None) -> list[Chain[Any]]:
        """The chains that these jobs started in their completion, or as their failure hook, oldest first.

        The chain of a start that found an existing chain is not among them. `chain.first_job.origin` is the job.
        """
        return self._run(_started(self.jobs, jobs, limit), tx)


def _blockers(jobs: Jobs, job: Job | str) -> Procedure[list[Chain[Any]]]:
    found: list[ChainRecord]
    [found] = yield GetBlockers((job_id(job),))
    return [Chain(record, jobs) for record in found]


def _started(registry: Jobs, jobs: Sequence[Job | str], limit: int) -> Procedure[list[Chain[Any]]]:
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    ids: list[str] = yield GetStarted(tuple(job_id(job) for job in jobs), limit)
    if not ids:
        return []
    found: list[ChainRecord | None] = yield GetChains(tuple(ids))
    return [Chain(record, registry) for record in found if record is not None]


def _dependents(jobs: Jobs, chain: Chain[Any] | Job | str, limit: int) -> Procedure[list[Job]]:
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    found: list[Record] = yield GetDependents(chain_id(chain), limit)
    return [Job(record, jobs) for record in found]
