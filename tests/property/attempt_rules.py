"""Rules that start jobs, claim and settle them, and complete them from outside."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import initialize, precondition, rule

from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import Claim, Record, Status
from holdfast.engine.operations import (
    ClaimJobs,
    Complete,
    Completion,
    Guard,
    LockChain,
    PreviewStart,
    Reap,
    Renew,
    ReportProgress,
    Settle,
    Settled,
    Start,
    TypeTerms,
)
from tests.property import drawing
from tests.property.job_machine import UNKNOWN, JobMachine
from tests.property.pair import comparable


class AttemptRules(JobMachine):
    """Several workers with good and stale claims."""

    # Creating

    @initialize(data=st.data())
    def begin_with_some(self, data: st.DataObject) -> None:
        self._start(data, 4)

    @rule(data=st.data(), size=st.integers(1, 4))
    def start(self, data: st.DataObject, size: int) -> None:
        self._start(data, size)

    def _start(self, data: st.DataObject, size: int) -> None:
        jobs = self._new_jobs(data, size)
        self.pair.perform(PreviewStart(jobs))
        self.pair.perform(Start(jobs))

    # Holding

    @rule(
        types=drawing.types,
        limit=drawing.limits,
        lease=drawing.leases,
        worker=st.sampled_from(("one", "two")),
        max_attempts=st.sampled_from((0, 1, 3)),
    )
    def claim(self, types: tuple[str, ...], limit: int, lease: int, worker: str, max_attempts: int) -> None:
        self._claim(tuple(TypeTerms(type, lease, max_attempts) for type in types), limit, worker)

    @rule(types=drawing.types, fast=drawing.types, limit=st.integers(0, 2), ahead=drawing.limits)
    def claim_ahead(self, types: tuple[str, ...], fast: tuple[str, ...], limit: int, ahead: int) -> None:
        self._claim(tuple(TypeTerms(type, 60, 3, type in fast) for type in types), limit, "one", ahead)

    def _claim(self, terms: tuple[TypeTerms, ...], limit: int, worker: str, ahead: int = 0) -> list[Record]:
        claimed = self.pair.claim(ClaimJobs(terms, limit, worker, f"token-{len(self.held)}", ahead=ahead))
        self.held += claimed
        return claimed

    @rule(data=st.data(), limit=drawing.limits)
    def work(self, data: st.DataObject, limit: int) -> None:
        self._work(data, limit)

    @rule(data=st.data(), by=st.sampled_from((5, 60)))
    def work_later(self, data: st.DataObject, by: int) -> None:
        self.pair.clock.advance(by)
        self._work(data, 4)

    @rule(limit=drawing.limits)
    def crash(self, limit: int) -> None:
        """Claim, let the lease expire, and reap."""
        self._claim(tuple(TypeTerms(type, 10 * SECOND, 2) for type in drawing.TYPES), limit, "two")
        self.pair.clock.advance(10)
        self.pair.perform(Reap(drawing.TYPES, (), limit))

    @rule(data=st.data())
    def start_and_work(self, data: st.DataObject) -> None:
        self._start(data, 2)
        self._work(data, 2)

    def _work(self, data: st.DataObject, limit: int) -> None:
        """Claim and settle, so that chains advance."""
        for job in self._claim(tuple(TypeTerms(type, 30 * SECOND, 3) for type in drawing.TYPES), limit, "one"):
            self._settle(data, [job])

    @precondition(lambda self: self.held)
    @rule(data=st.data(), size=st.integers(1, 3))
    def settle(self, data: st.DataObject, size: int) -> None:
        self._settle(data, [data.draw(st.sampled_from(self.held[-6:])) for _ in range(size)])

    def _settle(self, data: st.DataObject, jobs: list[Record]) -> None:
        settlements: list[Settlement] = []
        for job in jobs:
            starts = self._new_jobs(data, data.draw(st.sampled_from((0, 0, 0, 1, 2))))
            chains = [*self._chains(), *(start.id for start in starts)]
            following = data.draw(drawing.next_jobs(job, self._id(), chains, UNKNOWN))
            settlements.append(data.draw(drawing.settlements(job, following, starts, self.pair.clock())))
        self._send(settlements)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def settle_again(self, data: st.DataObject) -> None:
        self._send([data.draw(st.sampled_from(self.sent))])

    def _send(self, settlements: list[Settlement]) -> None:
        """Write the settlements. Unlike memory, a store may remember the settlement of a job that was removed since."""
        expected, answered = self.pair.perform_each(Settle(tuple(settlements)))
        for settlement, by_model, by_store in zip(settlements, expected, answered, strict=True):
            remembered = by_model.lost == "not_found" and by_store == Settled() and _outcome(settlement) in self.written
            assert remembered or comparable(by_store) == comparable(by_model)
            if by_model.written:
                self.written.add(_outcome(settlement))
        self.sent += settlements

    @precondition(lambda self: self.held)
    @rule(data=st.data(), lease=drawing.leases, fraction=st.sampled_from((0.0, 0.25, 1.0)))
    def hold_on(self, data: st.DataObject, lease: int, fraction: float) -> None:
        claims = self._claims(data)
        self.pair.perform(Renew(tuple((claim, lease) for claim in claims)))
        for claim in claims:
            self.pair.perform(ReportProgress(claim, fraction, data.draw(st.sampled_from((None, "half")))))
            self.pair.perform(Guard(claim))

    @rule(data=st.data(), types=drawing.types, limit=drawing.limits)
    def reap(self, data: st.DataObject, types: tuple[str, ...], limit: int) -> None:
        spared: bool = data.draw(st.booleans())
        held = self._claims(data) if self.held and spared else ()
        self.pair.clock.advance(data.draw(st.sampled_from((31, 10, 0))))
        self.pair.perform(Reap(types, held, limit))

    # Completing from outside

    @rule(data=st.data(), count=st.integers(1, 3), ends=st.booleans())
    def complete(self, data: st.DataObject, count: int, ends: bool) -> None:
        (chain_id,) = data.draw(drawing.some(self._chains(), UNKNOWN))[-1:] or (UNKNOWN,)
        current = self.pair.perform(LockChain(chain_id))
        if isinstance(current, Record):
            starts = self._new_jobs(data, data.draw(st.sampled_from((0, 0, 1))))
            chains = [*self._chains(), *(start.id for start in starts)]
            completions: list[Completion] = []
            job: Record | NewJob = current
            for _ in range(count - ends):
                job = data.draw(drawing.next_jobs(job, self._id(), chains, UNKNOWN))
                completions.append(Completion(continuation=job))
            if ends:
                completions.append(Completion(output=data.draw(drawing.outputs)))
            job_id = data.draw(st.sampled_from((current.id, current.id, current.id, chain_id)))
            expected = tuple(start.id for start in starts)
            self.pair.perform(Complete(chain_id, job_id, tuple(completions), starts=starts, expected=expected))


def _outcome(settlement: Settlement) -> tuple[Claim, Status]:
    return settlement.claim, settlement.status
