"""Rules that operate on jobs and read them, and what must be the same on both stores."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
from hypothesis.stateful import invariant, precondition, rule

from holdfast.core.blocker_rules import WHEN_ENDED, waits_for_end
from holdfast.core.lanes import SEPARATOR
from holdfast.core.record import Record, Status
from holdfast.core.waiting_cycles import cycles
from holdfast.engine.operations import (
    AttemptLog,
    CancelChains,
    DeclareLimits,
    Delete,
    Examine,
    Filter,
    GetAudit,
    GetBlockers,
    GetChains,
    GetCounters,
    GetDependents,
    GetErrors,
    GetHistory,
    GetJobs,
    GetStarted,
    GetStats,
    GetWaiting,
    Keep,
    LimitDeclaration,
    Listen,
    ListJobs,
    NextDue,
    Pause,
    Prune,
    Resume,
    RetryJobs,
    RunNow,
    SaveLogs,
    SetLimit,
    SkipJobs,
    Unlisten,
)
from tests.property import drawing
from tests.property.answers import Raised
from tests.property.job_machine import AUDIT, UNKNOWN, JobMachine
from tests.property.pair import comparable


class OperatorRules(JobMachine):
    """Operators change and read jobs, while time moves."""

    # Operating

    @rule(data=st.data(), reason=drawing.errors, spare=st.booleans())
    def cancel(self, data: st.DataObject, reason: bytes | None, spare: bool) -> None:
        chains = data.draw(drawing.some(self._chains(), UNKNOWN))
        self.pair.perform(CancelChains(chains, reason, spare_running=spare, audit=AUDIT))

    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        jobs = self._listed(Filter(statuses=(Status.FAILED, Status.CANCELLED)))
        self.pair.perform(RetryJobs(data.draw(drawing.some(jobs or self.ids, UNKNOWN)), AUDIT))

    @rule(data=st.data())
    def run_now(self, data: st.DataObject) -> None:
        jobs = self._listed(Filter(statuses=(Status.PENDING,)))
        self.pair.perform(RunNow(data.draw(drawing.some(jobs or self.ids, UNKNOWN)), AUDIT))

    @rule(data=st.data(), cascade=st.booleans())
    def delete(self, data: st.DataObject, cascade: bool) -> None:
        self.pair.perform(Delete(data.draw(drawing.some(self._chains(), UNKNOWN)), cascade, AUDIT))

    @rule(types=drawing.types, paused=st.booleans())
    def pause_or_resume(self, types: tuple[str, ...], paused: bool) -> None:
        self.pair.perform(Pause(types[:1], AUDIT) if paused else Resume(types, AUDIT))

    @rule(limit=drawing.limits)
    def prune(self, limit: int) -> None:
        self.pair.perform(Prune(limit))

    @rule(data=st.data(), keep=drawing.keeps)
    def keep(self, data: st.DataObject, keep: int | None) -> None:
        self.pair.perform(Keep(data.draw(drawing.some(self._chains(), UNKNOWN)), keep))

    @rule(by=st.sampled_from((1e-6, 1, 5, 10, 30, 100)))
    def let_time_pass(self, by: float) -> None:
        self.pair.clock.advance(by)

    # Limits, orders and logs

    @rule(data=st.data(), number=st.sampled_from((None, None, 0, 1, 3)))
    def set_limit(self, data: st.DataObject, number: int | None) -> None:
        name, _, key = data.draw(st.sampled_from(drawing.LANES)).partition(SEPARATOR)
        if name not in self.pair.limits():
            name = "unknown"
        if name in drawing.ORDERS and number is not None:
            number = 0
        self.pair.perform(SetLimit(name, number, data.draw(st.sampled_from((None, key))), AUDIT))

    @rule(declared=st.sampled_from(drawing.DECLARATIONS))
    def declare_limit(self, declared: LimitDeclaration) -> None:
        self.pair.perform(DeclareLimits((declared,)))

    @rule(data=st.data())
    def skip(self, data: st.DataObject) -> None:
        jobs = self._listed(Filter(statuses=(Status.FAILED,)))
        self.pair.perform(SkipJobs(data.draw(drawing.some(jobs or self.ids, UNKNOWN)), AUDIT))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), text=st.sampled_from((b"one line", b"", b"another")))
    def save_logs(self, data: st.DataObject, text: bytes) -> None:
        claims = self._claims(data)
        self.pair.perform(SaveLogs(tuple(AttemptLog(claim, text) for claim in claims)))
        for claim in claims:
            self.pair.perform(GetHistory(claim.job_id))

    # Reading

    @rule(data=st.data(), limit=drawing.limits)
    def dependents(self, data: st.DataObject, limit: int) -> None:
        for chain_id in data.draw(drawing.some(self._chains(), UNKNOWN)):
            self.pair.perform(GetDependents(chain_id, limit))

    @rule(data=st.data(), limit=drawing.limits)
    def started(self, data: st.DataObject, limit: int) -> None:
        for job_id in data.draw(drawing.some(self.ids, UNKNOWN)):
            self.pair.perform(GetStarted((job_id,), limit))

    @rule(data=st.data(), limit=drawing.limits)
    def page(self, data: st.DataObject, limit: int) -> None:
        self.pair.page(data.draw(drawing.filters(self._chains(), self.pair.clock())), limit)

    @rule(data=st.data(), limit=st.sampled_from((1, 100)))
    def read_audit(self, data: st.DataObject, limit: int) -> None:
        about = data.draw(st.just(()) | drawing.some(self.ids, UNKNOWN))
        self.pair.perform(GetAudit(limit, about, data.draw(st.none() | st.just(self.pair.clock()))))

    @rule(listener=st.sampled_from(("me", "you")), lease=drawing.leases, leaves=st.booleans())
    def listen(self, listener: str, lease: int, leaves: bool) -> None:
        if leaves:
            self.pair.perform(Unlisten(listener))
        else:
            self.received = [
                store.perform_sync(Listen(listener, lease)) for store in (self.pair.model, self.pair.store)
            ]

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        """Jobs by id, in any order, repeated, and unknown ones."""
        self.pair.perform(GetJobs(data.draw(drawing.some(self.ids, UNKNOWN))))

    @rule()
    def examine(self) -> None:
        """The findings differ between stores. The operation changes nothing."""
        for store in (self.pair.model, self.pair.store):
            store.perform_sync(Examine())

    @invariant()
    def everything_there_is_to_read_is_the_same(self) -> None:
        jobs = self.pair.perform(ListJobs(Filter(), 1000))
        assert not isinstance(jobs, Raised)
        self.laned = self.laned or any('"lanes":' in (job.details or "") for job in jobs)
        self.pair.perform(GetChains(tuple(self.ids)))
        self.pair.perform(GetStats())
        self.pair.perform(GetCounters())
        self.pair.perform(GetErrors())
        self.pair.limits()
        self.pair.lanes(drawing.RULES)
        waiting = self.pair.perform(GetWaiting(1000))
        assert isinstance(waiting, list)
        assert cycles(dict(waiting), 1) == []
        for types in (*((type,) for type in drawing.TYPES), drawing.TYPES):
            expected, other = self.pair.perform_each(NextDue(types))
            # With lanes, a store may let claims look earlier than necessary: `test_explain` tests that it is not later.
            assert other == expected or self.laned
        reported, other = self.pair.events(self.received)
        assert Counter(map(repr, comparable(other))) == Counter(map(repr, comparable(reported)))

    @invariant()
    def the_jobs_are_consistent(self) -> None:
        jobs = self.pair.model.perform_sync(ListJobs(Filter(), 1000))[::-1]
        by_chain: dict[str, list[Record]] = {}
        for job in jobs:
            by_chain.setdefault(job.chain_id, []).append(job)
        for chain in by_chain.values():
            assert [job.index for job in chain] == list(range(len(chain)))
            assert all(job.status is Status.COMPLETED for job in chain[:-1])
        for job in jobs:
            assert (job.leased_until is None) == (job.status is not Status.RUNNING)
            assert (job.finished_at is not None) == job.status.finished
            if not job.status.finished:
                [blockers] = self.pair.model.perform_sync(GetBlockers((job.id,)))
                open_blockers = [chain for chain in blockers if chain.last.status is not Status.COMPLETED]
                # A job that was finished and retried may have lost completed blockers to pruning, open ones never.
                assert len(blockers) <= job.blockers
                if not waits_for_end(job.on_blocker_failure):
                    assert len(open_blockers) == job.open_blockers
                    assert bool(open_blockers) == (job.status is Status.BLOCKED)
                elif job.status is Status.BLOCKED:
                    # One blocker at least has not ended, so that the job is looked at again.
                    ended = [chain.last.status for chain in open_blockers if chain.last.status.finished]
                    assert len(open_blockers) > len(ended)
                    assert job.open_blockers > 0
                    assert not ended or job.on_blocker_failure == WHEN_ENDED
                else:
                    assert job.open_blockers == 0
