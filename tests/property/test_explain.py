"""Explain agrees with the claim: after any sequence of verbs, an idle worker claims exactly the claimable jobs."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import rule

from holdfast import Job, SyncClient
from holdfast.core.clock import SECOND
from holdfast.core.details import lanes_of
from holdfast.core.record import Record, Status
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import (
    DrainWorker,
    Explain,
    Filter,
    GetWorkers,
    NextDue,
    RemoveWorker,
    ReportWorker,
    TypeTerms,
)
from tests.property import drawing
from tests.property.cases import OnMemory, OnPostgres, OnRedis, OnSqlite, as_case
from tests.property.job_machine import EXAMPLES, STEPS, UNKNOWN
from tests.property.test_agreement import Agreement

ALL = 1000


class Explained(Agreement):
    """Every verb in any order, and explanations of all jobs in between."""

    @rule(types=drawing.types)
    def an_idle_worker_claims_the_claimable_jobs(self, types: tuple[str, ...]) -> None:
        claimable = {job.id: job.record for job in self._claimable() if job.type in types}

        claimed = self._claim(tuple(TypeTerms(type, 30 * SECOND, 3) for type in types), ALL, "idle")

        taken = {job.id for job in claimed}
        assert {job.id for job in claimed if not _has_rate(job)} <= claimable.keys()
        # A job without lanes is claimed. One with lanes is claimed, or has to wait now because another one was claimed.
        assert all(lanes_of(job.details) is not None for id, job in claimable.items() if id not in taken)
        assert not any(job.type in types and not _has_rate(job.record) for job in self._claimable())

    @rule(limit=drawing.limits)
    def a_worker_with_few_slots_claims_only_claimable_jobs(self, limit: int) -> None:
        claimable = {job.id: job.record for job in self._claimable()}

        before = self.pair.store.perform_sync(NextDue(drawing.TYPES))
        claimed = self._claim(tuple(TypeTerms(type, 30 * SECOND, 3) for type in drawing.TYPES), limit, "idle")

        assert {job.id for job in claimed if not _has_rate(job)} <= claimable.keys()
        assert len(claimed) >= min(limit, sum(lanes_of(job.details) is None for job in claimable.values()))
        if any(not _has_rate(job) for job in claimable.values()):
            assert claimed
            # Workers do not sleep while a job can be claimed.
            assert before == 0

    @rule(data=st.data())
    def the_facts_are_those_of_memory(self, data: st.DataObject) -> None:
        for job_id in data.draw(drawing.some(self.ids, UNKNOWN)):
            self.pair.perform(Explain(job_id))
            self.pair.perform(Explain(job_id, current=False))

    @rule(id=st.sampled_from(("one", "two")), again=st.booleans(), draining=st.booleans())
    def report(self, id: str, again: bool, draining: bool) -> None:
        known = {worker.id: worker.started_at for worker in self.pair.model.perform_sync(GetWorkers())}
        began = known.get(id, 0) if again else 0
        worker = WorkerRecord(id, "host", 1, drawing.TYPES[:2], 3, started_at=began, draining=draining)
        self.pair.perform(ReportWorker(worker))

    @rule(id=st.sampled_from(("one", "two")), drains=st.booleans())
    def drain_or_remove(self, id: str, drains: bool) -> None:
        if drains:
            self.pair.perform(DrainWorker(id))
        else:
            for worker in self.pair.model.perform_sync(GetWorkers()):
                self.pair.perform(RemoveWorker(id, worker.started_at))

    @rule()
    def the_workers_are_those_of_memory(self) -> None:
        self.pair.perform(GetWorkers())

    def _claimable(self) -> list[Job]:
        """The jobs that the store explains as claimable."""
        client = SyncClient(self.pair.store)
        found: list[Job] = []
        for id in self._listed(Filter(statuses=(Status.PENDING,))):
            explanation = client.explain(self.pair.to_store(id))
            if explanation is not None:
                assert explanation.reasons
                if explanation.claimable:
                    found.append(Job(self.pair.to_model(explanation.job.record), client.jobs))
        return found


def _has_rate(job: Record) -> bool:
    """Explain does not know which attempts a rate has counted, nor that a heavier job of the track is in front."""
    lanes = lanes_of(job.details)
    return lanes is not None and any(rule.kind == "rate" for rule in lanes.rules)


class Memory(OnMemory, Explained):
    pass


class Sqlite(OnSqlite, Explained):
    pass


class Postgres(OnPostgres, Explained):
    pass


class Redis(OnRedis, Explained):
    pass


TestMemory = as_case(Memory, examples=EXAMPLES, steps=STEPS, share=0.2)
TestSqlite = as_case(Sqlite, examples=EXAMPLES, steps=STEPS, share=0.2)
TestPostgres = as_case(Postgres, examples=EXAMPLES, steps=STEPS, share=0.07)
TestRedis = as_case(Redis, examples=EXAMPLES, steps=STEPS, share=0.2)
