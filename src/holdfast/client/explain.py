"""Explain why a job is in its state."""

from __future__ import annotations

from typing import Any

from holdfast.client.base import ClientBase, SyncClientBase
from holdfast.client.references import job_id
from holdfast.core.details import lanes_of
from holdfast.core.explanation import Explanation, JobFacts, Situation
from holdfast.core.job import Chain, Job
from holdfast.core.lanes import LaneFacts
from holdfast.core.reasons import is_due, reasons
from holdfast.core.worker_record import LiveWorker, WorkerRecord
from holdfast.engine.operations import Explain, GetLanes, GetWorkers
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Jobs


class ExplainMethods(ClientBase):
    """Explanations, async."""

    async def explain(self, subject: Chain[Any] | Job | str, *, tx: Any = None) -> Explanation | None:
        """Why a job is in its state, and what would change that. None if there is no such job.

        A chain, or its id, means its current job. The explanation uses the conditions and the clock of the claim.
        """
        return await self._run(_explain(self.jobs, subject), tx)


class SyncExplainMethods(SyncClientBase):
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
    lanes = lanes_of(facts.record.details) if is_due(facts.record, facts.now) else None
    found: list[LaneFacts] = [] if lanes is None else (yield GetLanes(tuple(rule.lane for rule in lanes.rules)))
    situation = Situation(facts, workers, _is_external(facts.record.type, jobs, workers), found)
    return Explanation(Job(facts.record, jobs), reasons(situation))


def _is_external(type: str, jobs: Jobs, workers: list[WorkerRecord]) -> bool:
    """Whether this client or a live worker declares the type without a handler, and no live worker runs it."""
    if any(type in worker.types for worker in workers):
        return False
    declared = jobs.get(type)
    if declared is not None:
        return declared.function is None
    return any(type in LiveWorker(worker).details.get("external", ()) for worker in workers)
