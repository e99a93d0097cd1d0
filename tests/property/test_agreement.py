"""Each store agrees with memory on any sequence of verbs: results, errors, and all data that can be read.

HOLDFAST_PROPERTY_EXAMPLES sets how many sequences are tried. A long run needs `-o faulthandler_timeout=0` beside it.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path
from uuid import UUID

import hypothesis.strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from msgspec.structs import replace

from holdfast.core.blocker_rules import WHEN_ENDED, waits_for_end
from holdfast.core.clock import SECOND
from holdfast.core.lanes import SEPARATOR
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import Claim, Record, Status
from holdfast.core.waiting_cycles import cycles
from holdfast.engine import operations
from holdfast.engine.operations import (
    AttemptLog,
    Audit,
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
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
    Guard,
    Keep,
    LimitDeclaration,
    Listen,
    ListJobs,
    LockChain,
    NextDue,
    Pause,
    PreviewStart,
    Prune,
    Reap,
    Renew,
    ReportProgress,
    Resume,
    RetryJobs,
    RunNow,
    SaveLogs,
    SetLimit,
    Settle,
    Settled,
    SkipJobs,
    Start,
    TypeTerms,
    Unlisten,
)
from holdfast.stores.memory.verbs import VERBS
from holdfast.stores.sql import counting
from tests.property import drawing
from tests.property.answers import Raised
from tests.property.cases import OnMemory, OnPostgres, OnRedis, OnSqlite, StoreMachine, as_case
from tests.property.pair import comparable

AUDIT = Audit("operator", "a reason")
EXAMPLES, STEPS = 30, 40
UNKNOWN = str(UUID(int=2**64))


class Agreement(StoreMachine):
    """Every verb in any order, by several workers with good and stale claims, while time moves."""

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
                self.pair.perform(GetBlockers(job_id))
        finally:
            super().teardown()

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
        self.pair.lanes(drawing.LANES)
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
                blockers = self.pair.model.perform_sync(GetBlockers(job.id))
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


def _outcome(settlement: Settlement) -> tuple[Claim, Status]:
    return settlement.claim, settlement.status


class Memory(OnMemory, Agreement):
    pass


class Sqlite(OnSqlite, Agreement):
    pass


class Postgres(OnPostgres, Agreement):
    pass


class Redis(OnRedis, Agreement):
    pass


TestMemory = as_case(Memory, examples=EXAMPLES, steps=STEPS, share=0.1)
TestSqlite = as_case(Sqlite, examples=EXAMPLES, steps=STEPS, share=0.4)
TestPostgres = as_case(Postgres, examples=EXAMPLES, steps=STEPS, share=0.15)
TestRedis = as_case(Redis, examples=EXAMPLES, steps=STEPS, share=0.4)


def test_every_verb_takes_part() -> None:
    folder = Path(__file__).parent
    reported = {
        node.id
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Name)
    }

    # Memory is the model. Verbs that only stores with transactions of the application have are tested elsewhere.
    verbs = {
        each.__name__
        for each in filter(inspect.isclass, vars(operations).values())
        if getattr(each, "verb", None) in VERBS
    }

    assert len(verbs) == len(VERBS)
    assert verbs - reported == set()
