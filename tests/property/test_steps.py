"""Each store agrees with memory about steps, suspensions and messages, whatever the order of the operations.

HOLDFAST_PROPERTY_EXAMPLES sets how many sequences are tried.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record
from holdfast.core.steps import Checkpoint, Wait
from holdfast.engine.operations import (
    Audit,
    CancelChains,
    ClaimJobs,
    Delete,
    Explain,
    Filter,
    GetAudit,
    GetHistory,
    GetMessages,
    GetSteps,
    Listen,
    ListJobs,
    Prune,
    ReadEvents,
    Reap,
    RetryJobs,
    RunNow,
    SaveSteps,
    SendMessage,
    Settle,
    Settled,
    Start,
    TypeTerms,
)
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, released, retrying
from holdfast.testing.lanes import limit, order, rate, with_lanes
from tests.property.cases import OnPostgres, OnRedis, OnSqlite, StoreMachine, as_case

AUDIT = Audit("operator", "a reason")
TYPES = ("plain", "limited", "ordered", "rated", "publish")
LANES = {"limited": limit(1), "ordered": order(), "rated": rate(1, per=60)}
NAMES = ("a", "b", "ü", "long name")
EACHES = ("", "", "1", '"x"')

names = st.sampled_from(NAMES)
checkpoints = st.tuples(
    names,
    st.sampled_from(EACHES),
    st.sampled_from(("step", "step", "cursor", "sleep", "receive")),
    st.sampled_from((b"1", b'"\xc3\xbc"', b"", None)),
    st.sampled_from((True, True, False)),
    st.booleans(),
)
waits = st.tuples(
    names,
    st.sampled_from(EACHES),
    st.sampled_from(("sleep", "receive")),
    st.sampled_from((None, None, 5 * SECOND, 60 * SECOND, -SECOND)),
    st.sampled_from((None, None, -SECOND, 10 * SECOND, 2**60)),
)


class StepsAgree(StoreMachine):
    """A few jobs with and without lanes, whose attempts store steps, are suspended, lost, woken and retried."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.held: list[Record] = []
        """All claims so far; most are stale."""
        self.sent: list[Settlement] = []
        self.number = 0

    def teardown(self) -> None:
        try:
            for job_id in self.ids:
                self.pair.perform(GetHistory(job_id))
            self.pair.perform(GetAudit(1000))
            kinds = [
                [
                    event.kind
                    for event in store.perform_sync(ReadEvents(0, 1000))
                    if event.kind in ("suspended", "made_due")
                ]
                for store in (self.pair.model, self.pair.store)
            ]
            assert kinds[0] == kinds[1]
        finally:
            super().teardown()

    @initialize()
    def begin(self) -> None:
        self.pair.perform(Listen("me", 10**12))
        for type in TYPES[:4]:
            self.start(type)
        self.claim(4)

    @rule(type=st.sampled_from(TYPES[:4]))
    def start(self, type: str) -> None:
        job = new_job(type, id=f"job-{len(self.ids)}", keep=5, max_attempts=3, trace="t")
        job = with_lanes(job, LANES[type]) if type in LANES else job
        self.ids.append(job.id)
        self.pair.perform(Start((job,)))

    @rule(limit=st.integers(1, 4))
    def claim(self, limit: int) -> None:
        # One type after the other: the order among types is not the subject here.
        for type in TYPES:
            terms = (TypeTerms(type, 30 * SECOND, 3),)
            claimed = self.pair.perform(ClaimJobs(terms, limit, "one", f"token-{len(self.held)}"))
            assert isinstance(claimed, list)
            self.held += claimed

    @precondition(lambda self: self.held)
    @rule(data=st.data(), given_=st.lists(checkpoints, min_size=1, max_size=4))
    def save(self, data: st.DataObject, given_: list[tuple[str, str, str, bytes | None, bool, bool]]) -> None:
        saved: list[Checkpoint] = []
        for name, each, kind, payload, done, broken in given_:
            self.number += 1
            job = self._held(data)
            result, error = (None, b'["E","",""]') if broken and done else (payload, None)
            saved.append(
                Checkpoint(job.claim, name, each, kind, self.number, job.attempt, 0, result, error, 7, done)  # type: ignore[arg-type]
            )
        self.pair.perform(SaveSteps(tuple(saved)))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), given_=st.lists(waits, min_size=1, max_size=3))
    def suspend(self, data: st.DataObject, given_: list[tuple[str, str, str, int | None, int | None]]) -> None:
        job, drawn = self._held(data), list[Wait]()
        for name, each, kind, delay, at in given_:
            self.number += 1
            moment = None if at is None else at if at == 2**60 else self.pair.clock() + at
            drawn.append(
                Wait(name, each, kind, self.number, job.attempt, 0, delay, moment)  # type: ignore[arg-type]
            )
        self._settle(Settlement(job.claim, released(job).status, "suspended", waits=tuple(drawn)))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), how=st.sampled_from(("complete", "continue", "retry", "fail", "release")))
    def settle(self, data: st.DataObject, how: str) -> None:
        job = self._held(data)
        match how:
            case "complete":
                settlement = completed(job)
            case "continue":
                following = next_job(job, id=f"job-{len(self.ids)}", keep=5)
                self.ids.append(following.id)
                settlement = continued(job, following)
            case "retry":
                settlement = retrying(job)
            case "fail":
                settlement = failed(job)
            case _:
                settlement = released(job)
        self._settle(settlement)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def settle_again(self, data: st.DataObject) -> None:
        self._settle(data.draw(st.sampled_from(self.sent[-3:])))

    @rule(data=st.data(), name=names, value=st.sampled_from((b"1", b'"\xc3\xbc"', b"")))
    def send(self, data: st.DataObject, name: str, value: bytes) -> None:
        self.pair.perform(SendMessage(self._id(data), name, value))

    @rule(data=st.data())
    def run_now(self, data: st.DataObject) -> None:
        self.pair.perform(RunNow((self._id(data),), AUDIT))

    @rule(data=st.data(), name=st.none() | names)
    def retry(self, data: st.DataObject, name: str | None) -> None:
        self.pair.perform(RetryJobs((self._id(data),), AUDIT, name))

    @rule(data=st.data())
    def fail_and_retry(self, data: st.DataObject) -> None:
        """Retry a job from one of the steps that it has."""
        for job in self.held[-4:]:
            (rows,) = self.pair.model.perform_sync(GetSteps((job.id,)))
            if rows:
                self._settle(failed(job))
                name = data.draw(st.sampled_from(sorted({row.name for row in rows})))
                self.pair.perform(RetryJobs((job.id,), AUDIT, name))
                break

    @rule(data=st.data(), how=st.sampled_from(("cancel", "delete", "prune")))
    def end(self, data: st.DataObject, how: str) -> None:
        match how:
            case "cancel":
                self.pair.perform(CancelChains((self._id(data),)))
            case "delete":
                self.pair.perform(Delete((self._id(data),)))
            case _:
                self.pair.perform(Prune(2))

    @rule(by=st.sampled_from((1, 5, 31, 60)), reaps=st.booleans())
    def let_time_pass(self, by: int, reaps: bool) -> None:
        self.pair.clock.advance(by)
        if reaps:
            self.pair.perform(Reap(TYPES, (), 100))

    @invariant()
    def everything_there_is_to_read_is_the_same(self) -> None:
        self.pair.perform(ListJobs(Filter(), 1000))
        self.pair.perform(GetSteps(tuple(self.ids)))
        self.pair.perform(GetMessages(tuple((id, name) for id in self.ids for name in NAMES)))
        for id in self.ids[-6:]:
            facts = [store.perform_sync(Explain(id)) for store in (self.pair.model, self.pair.store)]
            assert len({None if each is None else each.messages for each in facts}) == 1

    def _settle(self, settlement: Settlement) -> None:
        """Unlike memory, a store may remember the settlement of a job that was removed since."""
        ((expected,), (answered,)) = [
            store.perform_sync(Settle((settlement,))) for store in (self.pair.model, self.pair.store)
        ]
        assert answered == expected or (expected.lost, answered) == ("not_found", Settled())
        self.sent.append(settlement)

    def _held(self, data: st.DataObject) -> Record:
        return data.draw(st.sampled_from(self.held[-6:]))

    def _id(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.ids[-6:]))


class Sqlite(OnSqlite, StepsAgree):
    pass


class Postgres(OnPostgres, StepsAgree):
    pass


class Redis(OnRedis, StepsAgree):
    pass


TestSqlite = as_case(Sqlite, examples=10, steps=30)
TestPostgres = as_case(Postgres, examples=10, steps=30, share=0.3)
TestRedis = as_case(Redis, examples=10, steps=30)
