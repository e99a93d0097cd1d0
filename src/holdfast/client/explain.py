"""Explain why a job is in its state."""

from __future__ import annotations

from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.references import job_id
from holdfast.client.unserved import external_types
from holdfast.core.details import lanes_of
from holdfast.core.explanation import Explanation, JobFacts, Situation
from holdfast.core.job import Chain, Job
from holdfast.core.lanes import LaneFacts
from holdfast.core.reasons import is_due, reasons
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.core.worker_record import LiveWorker, WorkerRecord
from holdfast.engine.operations import Explain, GetChains, GetLanes, GetWorkers
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Jobs


class ExplainMethods(Capability):
    """Explanations, async."""

    async def explain(self, subject: Chain[Any] | Job | str, *, tx: Any = None) -> Explanation | None:
        """Why a job is in its state, and what would change that. None if there is no such job.

        A chain, or its id, means its current job. The explanation uses the conditions and the clock of the claim.
        """
        return await self._run(_explain(self.jobs, subject), tx)


class SyncExplainMethods(SyncCapability):
    """Explanations, blocking."""

    def explain(self, subject: Chain[Any] | Job | str, *, tx: Any = None) -> Explanation | None:
        """Why a job is in its state, and what would change that. None if there is no such job.

        A chain, or its id, means its current job. The explanation uses the conditions and the clock of the claim.
        """
        return self._run(_explain(self.jobs, subject), tx)


def _explain(jobs: Jobs, subject: Chain[Any] | Job | str) -> Procedure[Explanation | None]:
    identifier = subject.id if isinstance(subject, Chain) else job_id(subject)
    facts: JobFacts | None = yield Explain(identifier, current=not isinstance(subject, Job))
    if facts is None:
        return None
    workers: list[WorkerRecord] = [] if facts.record.status.finished else (yield GetWorkers())
    lanes, fronts = yield from _lanes(facts)
    situation = Situation(facts, workers, _is_external(facts.record.type, jobs, workers), lanes, fronts)
    return Explanation(Job(facts.record, jobs), reasons(situation), facts.messages)


def _lanes(facts: JobFacts) -> Procedure[tuple[list[LaneFacts], dict[str, Record]]]:
    """The lanes of a due or failed job, and the current jobs of the other chains at the front of its orders."""
    job = facts.record
    lanes = lanes_of(job.details) if job.status is Status.FAILED or is_due(job, facts.now) else None
    if lanes is None:
        return [], {}
    found: list[LaneFacts] = yield GetLanes(lanes.rules, job.id)
    others = {each.lane.front for each in found if each.lane.front is not None} - {job.chain_id}
    chains: list[ChainRecord | None] = (yield GetChains(tuple(others))) if others else []
    return found, {chain.first.id: chain.last for chain in chains if chain is not None}


def _is_external(type: str, jobs: Jobs, workers: list[WorkerRecord]) -> bool:
    """Whether this client or a live worker declares the type without a handler, and no live worker runs it."""
    declared = jobs.get(type)
    if declared is not None and declared.function is not None:
        return False
    return type in external_types([LiveWorker(worker) for worker in workers], () if declared is None else (type,))
