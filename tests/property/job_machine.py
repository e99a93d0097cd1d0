"""The state that all rules about jobs share: which jobs exist, and which claims were made."""

from __future__ import annotations

from uuid import UUID

import hypothesis.strategies as st
from msgspec.structs import replace

from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import Claim, Record, Status
from holdfast.engine.operations import (
    Audit,
    Filter,
    GetBlockers,
    GetHistory,
    ListJobs,
)
from holdfast.stores.sql import counting
from tests.property import drawing
from tests.property.cases import StoreMachine

AUDIT = Audit("operator", "a reason")
EXAMPLES, STEPS = 30, 40
UNKNOWN = str(UUID(int=2**64))


class JobMachine(StoreMachine):
    """Some jobs on a store and on memory."""

    def __init__(self) -> None:
        super().__init__()
        counting.ADDED_UP_AT = 2  # so that a prune of a few jobs adds up their counters
        self.ids: list[str] = []
        self.held: list[Record] = []
        """All claims so far; most are stale."""
        self.sent: list[Settlement] = []
        self.written: set[tuple[Claim, Status]] = set()
        self.received = [0, 0]
        self.laned = False
        """Whether there was a job with lanes."""

    def teardown(self) -> None:
        try:
            for job_id in self.ids:
                self.pair.perform(GetHistory(job_id))
                self.pair.perform(GetBlockers((job_id,)))
        finally:
            super().teardown()

    def _id(self) -> str:
        """A new id; ids sort by the order they were made in."""
        self.ids.append(str(UUID(int=len(self.ids) + 1)))
        return self.ids[-1]

    def _new_jobs(self, data: st.DataObject, count: int) -> tuple[NewJob, ...]:
        jobs: list[NewJob] = []
        for _ in range(count):
            again = bool(self.ids) and data.draw(st.integers(0, 9)) == 0
            id = data.draw(st.sampled_from(self.ids)) if again else self._id()
            chains = [*self._chains(), *(job.id for job in jobs)]
            job = data.draw(drawing.jobs(id, chains, UNKNOWN, self.pair.clock()))
            if again and job.dedup == "waiting":
                # The stores differ if the id is that of a continuation: Redis returns its chain, the others change it.
                job = replace(job, dedup="incomplete")
            jobs.append(job)
        return tuple(jobs)

    def _chains(self) -> list[str]:
        """Every chain, the newest last."""
        return [job.id for job in self.pair.model.perform_sync(ListJobs(Filter(), 1000))[::-1] if job.index == 0]

    def _listed(self, wanted: Filter) -> list[str]:
        return [job.id for job in self.pair.model.perform_sync(ListJobs(wanted, 1000))]

    def _claims(self, data: st.DataObject) -> tuple[Claim, ...]:
        jobs = data.draw(st.lists(st.sampled_from(self.held[-6:]), max_size=4))
        return tuple(job.claim for job in jobs)
