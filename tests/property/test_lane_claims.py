"""Claims of several jobs with lanes, of different priorities and weights: the stores follow the rules.

The machine of `test_agreement` has all verbs, so few of its claims meet several jobs that wait for the same lanes.
"""

from __future__ import annotations

from unittest.mock import patch
from uuid import UUID

import hypothesis.strategies as st
from hypothesis.stateful import invariant, precondition, rule

from holdfast.core.clock import SECOND
from holdfast.core.details import JobDetails, write_details
from holdfast.core.lanes import LaneRule, job_lanes
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import Record, Status
from holdfast.engine.operations import CancelChains, ClaimJobs, Pause, Resume, SetLimit, Settle, Start, TypeTerms
from holdfast.stores.postgres.verbs.scan_starts import ScanStarts
from holdfast.testing.lanes import limit, order, rate
from tests.property.cases import OnMemory, OnPostgres, OnRedis, OnSqlite, StoreMachine, as_case
from tests.property.job_machine import EXAMPLES, STEPS

TYPES = ("a", "b")
RULES = (
    limit(2, name="gpu"),
    limit(3, name="disk"),
    *(limit(number, name="tenant", key=key) for number, key in ((2, "x"), (2, "y"))),
    *(rate(1, per=10, burst=3, weight=weight, name="api") for weight in (0, 1, 1, 2, 3)),
    *(rate(1, per=10, burst=2, weight=weight, name="mail", key="x") for weight in (1, 2)),
    order(name="account", key="x"),
)


SINGLE = (
    *(limit(number, name=f"by {number}", key=key) for number, key in ((1, "v"), (1, "w"), (2, "x"), (2, "y"))),
    *(order(name="account", key=key) for key in "vwxy"),
    order(name="ledger", key="v", chain=True),
    rate(1, per=10, burst=3, name="api"),
)


class LaneClaims(StoreMachine):
    """Few types and lanes, many jobs."""

    choice = RULES
    most_lanes = 3
    """The most lanes of a job."""
    priorities = st.integers(-1, 2)

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.running: list[Record] = []
        self.started: list[str] = []

    @rule(data=st.data(), size=st.integers(1, 6))
    def start(self, data: st.DataObject, size: int) -> None:
        jobs = tuple(self._job(data) for _ in range(size))
        self.started += [job.id for job in jobs]
        self.pair.perform(Start(jobs))

    @rule(data=st.data(), copies=st.integers(2, 5))
    def start_alike(self, data: st.DataObject, copies: int) -> None:
        """Several jobs of one track."""
        type, priority = data.draw(st.sampled_from(TYPES)), data.draw(self.priorities)
        rules = data.draw(_rules(self.choice, self.most_lanes))
        jobs = tuple(self._new(type, priority, rules) for _ in range(copies))
        self.started += [job.id for job in jobs]
        self.pair.perform(Start(jobs))

    @rule(types=st.sampled_from((TYPES, TYPES, ("a",), ("b",))), limit=st.integers(1, 8))
    def claim(self, types: tuple[str, ...], limit: int) -> None:
        terms = tuple(TypeTerms(type, 3600 * SECOND, 25) for type in types)
        self.number += 1
        self.running += self.pair.claim(ClaimJobs(terms, limit, "one", f"token-{self.number}"))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), size=st.integers(1, 4))
    def settle(self, data: st.DataObject, size: int) -> None:
        settlements: list[Settlement] = []
        for _ in range(min(size, len(self.running))):
            job = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
            outcome = data.draw(st.sampled_from(("completed", "completed", "released", "begun", "failed")))
            settlements.append(_settlement(job, outcome))
        self.pair.perform(Settle(tuple(settlements)))

    @precondition(lambda self: self.started)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(self.started))
        self.running = [job for job in self.running if job.id != id]
        self.pair.perform(CancelChains((id,)))

    @rule(by=st.sampled_from((1, 5, 10, 20)))
    def let_time_pass(self, by: float) -> None:
        self.pair.clock.advance(by)

    @rule(name=st.sampled_from(("gpu", "disk", "api")), number=st.sampled_from((None, None, 0, 1, 3)))
    def set_limit(self, name: str, number: int | None) -> None:
        # Of a rate that was paused, more jobs without weight may start at once than the store makes ready at once.
        if name in self.pair.limits() and not (name == "api" and number == 0):
            self.pair.perform(SetLimit(name, number))

    @rule(type=st.sampled_from(TYPES), paused=st.booleans())
    def pause_or_resume(self, type: str, paused: bool) -> None:
        self.pair.perform(Pause((type,)) if paused else Resume(TYPES))

    @invariant()
    def the_lanes_are_the_same(self) -> None:
        self.pair.lanes(self.choice)

    def _job(self, data: st.DataObject) -> NewJob:
        rules = data.draw(st.just(()) | _rules(self.choice, self.most_lanes))
        return self._new(data.draw(st.sampled_from(TYPES)), data.draw(self.priorities), rules)

    def _new(self, type: str, priority: int, rules: tuple[LaneRule, ...]) -> NewJob:
        self.number += 1
        id = str(UUID(int=self.number))
        own = job_lanes(type, priority, rules, rules[0].lane) if rules else None
        details = write_details(JobDetails(lanes=own))
        return NewJob(id, type, id, b"", priority=priority, details=details, track=None if own is None else own.track)


@st.composite
def _rules(draw: st.DrawFn, among: tuple[LaneRule, ...], most: int) -> tuple[LaneRule, ...]:
    """Lanes of different names."""
    wanted = draw(st.lists(st.sampled_from(among), min_size=1, max_size=most))
    return tuple({rule.name: rule for rule in wanted}.values())


def _settlement(job: Record, outcome: str) -> Settlement:
    match outcome:
        case "completed":
            return Settlement(job.claim, Status.COMPLETED, "completed", output=b"")
        case "failed":
            return Settlement(job.claim, Status.PENDING, "failed", delay=5 * SECOND)
        case _:
            return Settlement(job.claim, Status.PENDING, "released", begun=outcome == "begun")


class SingleLanes(LaneClaims):
    """Most jobs have one limit or order. PostgreSQL and Redis have special code for claims of one job of each track.

    On PostgreSQL, each claim tries it first.
    """

    choice = SINGLE
    most_lanes = 1
    priorities = st.sampled_from((0, 0, 0, 1))

    def __init__(self) -> None:
        super().__init__()
        self._always = patch.object(ScanStarts, "tries_single_lanes", return_value=True)
        self._always.start()

    def teardown(self) -> None:
        self._always.stop()
        super().teardown()

    @rule(data=st.data(), keys=st.integers(2, 4))
    def start_in_lanes(self, data: st.DataObject, keys: int) -> None:
        """Two jobs in each of several lanes."""
        lanes = data.draw(st.sampled_from((SINGLE[:4], SINGLE[4:8], SINGLE[2:6])))[:keys]
        jobs = tuple(self._new(TYPES[0], 0, (lane,)) for lane in lanes * 2)
        self.started += [job.id for job in jobs]
        self.pair.perform(Start(jobs))


class Memory(OnMemory, LaneClaims):
    pass


class Sqlite(OnSqlite, LaneClaims):
    pass


class Postgres(OnPostgres, LaneClaims):
    pass


class Redis(OnRedis, LaneClaims):
    pass


class SqliteSingle(OnSqlite, SingleLanes):
    pass


class PostgresSingle(OnPostgres, SingleLanes):
    pass


class RedisSingle(OnRedis, SingleLanes):
    pass


TestMemory = as_case(Memory, examples=EXAMPLES, steps=STEPS, share=0.4)
TestSqlite = as_case(Sqlite, examples=EXAMPLES, steps=STEPS, share=0.4)
TestPostgres = as_case(Postgres, examples=EXAMPLES, steps=STEPS, share=0.15)
TestRedis = as_case(Redis, examples=EXAMPLES, steps=STEPS, share=0.4)
TestSqliteSingle = as_case(SqliteSingle, examples=EXAMPLES, steps=STEPS, share=0.2)
TestPostgresSingle = as_case(PostgresSingle, examples=EXAMPLES, steps=STEPS, share=0.2)
TestRedisSingle = as_case(RedisSingle, examples=EXAMPLES, steps=STEPS, share=0.4)
