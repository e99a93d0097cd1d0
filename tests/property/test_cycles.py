"""A write is refused exactly when it would close a cycle of waiting chains, on every store, in any graph.

The oracle is a naive search over what waits before the write, and what the write adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import hypothesis.strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.core.waiting_cycles import cycles
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
    Filter,
    GetBlockers,
    GetWaiting,
    ListChains,
    LockChain,
    RetryJobs,
    Settle,
    Settled,
    Start,
    TypeTerms,
)
from holdfast.errors import DependencyCycle
from holdfast.testing.builders import completed, continued, new_job, next_job
from tests.property.answers import Raised
from tests.property.cases import OnPostgres, OnRedis, OnSqlite, StoreMachine, as_case

Edges = Mapping[str, Sequence[str]]

several = st.lists(st.integers(0, 7), max_size=3)
"""Chains by their place, the newest first."""


class Graph(StoreMachine):
    """A few chains that begin to wait for each other in every way there is."""

    def __init__(self) -> None:
        super().__init__()
        self.made = 0

    @initialize()
    def begin_with_some(self) -> None:
        self.pair.perform(Start(tuple(self._new() for _ in range(3))))

    @rule(after=several)
    def start(self, after: list[int]) -> None:
        self.pair.perform(Start((self._new(self._named(after)),)))

    @rule(after=several, side=st.none() | several, times=st.integers(1, 2))
    def continue_chains(self, after: list[int], side: list[int] | None, times: int) -> None:
        """One or two attempts continue in one settle; each may start a side chain that waits as well."""
        claimed = self.pair.perform(ClaimJobs((TypeTerms("resize", 3600 * SECOND, 99),), times, "w", self._id()))
        assert isinstance(claimed, list)
        settlements: list[Settlement] = []
        for job in claimed:
            starts = () if side is None else (self._new(self._named(side)),)
            named = (*self._named(after), *(start.id for start in starts))
            settlements.append(continued(job, self._next(job, named), starts=starts))
        for settlement in settlements:
            assert settlement.continuation is not None
            new = {start.id: start.after for start in settlement.starts}
            closed = self._closes({settlement.continuation.chain_id: settlement.continuation.after}, new)
            (answer,) = self._settle(settlement)
            assert isinstance(answer.refused, DependencyCycle) == closed
            if answer.refused is not None:
                self._settle(completed(next(job for job in claimed if job.claim == settlement.claim)))

    @rule(place=st.integers(0, 7), after=several)
    def complete_from_outside(self, place: int, after: list[int]) -> None:
        (chain_id,) = self._named([place])
        current = self.pair.perform(LockChain(chain_id))
        if isinstance(current, Record) and not current.status.finished:
            closed = self._closes({chain_id: self._named(after)}, {})
            completions = (Completion(continuation=self._next(current, self._named(after))),)
            answer = self.pair.perform(Complete(chain_id, current.id, completions))
            assert _is_cycle(answer) == closed

    @rule(place=st.integers(0, 7))
    def end(self, place: int) -> None:
        self.pair.perform(CancelChains(self._named([place])))

    @precondition(lambda self: self._cancelled())
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        chains = data.draw(st.lists(st.sampled_from(self._cancelled()), min_size=1, max_size=3, unique_by=id))
        again: dict[str, Sequence[str]] = {}
        for chain in chains:
            if chain.last.open_blockers:
                [named] = self.pair.model.perform_sync(GetBlockers((chain.last.id,)))
                again[chain.first.id] = [blocker.first.id for blocker in named]
        closed = self._closes(again, {})

        answer = self.pair.perform(RetryJobs(tuple(chain.last.id for chain in chains)))

        assert _is_cycle(answer) == closed

    @invariant()
    def nothing_waits_in_a_cycle(self) -> None:
        waiting = self.pair.perform(GetWaiting(1000))
        assert isinstance(waiting, list)
        assert cycles(dict(waiting), 1) == []

    def _settle(self, settlement: Settlement) -> list[Settled]:
        answers = self.pair.perform(Settle((settlement,)))
        assert isinstance(answers, list)
        return answers

    def _closes(self, written: Edges, beside: Edges) -> bool:
        """Whether one of the chains that are written to would reach itself."""
        waiting = self.pair.model.perform_sync(GetWaiting(1000))
        waits: Edges = {**dict(waiting), **beside, **written}
        return any(chain in _reachable(chain, waits) for chain in written)

    def _cancelled(self) -> list[ChainRecord]:
        return self.pair.model.perform_sync(ListChains(Filter(statuses=(Status.CANCELLED,)), 8))

    def _named(self, places: Sequence[int]) -> tuple[str, ...]:
        newest = self.pair.model.perform_sync(ListChains(Filter(), 8))
        return tuple(newest[place % len(newest)].first.id for place in places)

    def _new(self, after: tuple[str, ...] = ()) -> NewJob:
        return new_job(id=self._id(), after=after)

    def _next(self, job: Record, after: tuple[str, ...]) -> NewJob:
        return next_job(job, "resize", id=self._id(), after=after)

    def _id(self) -> str:
        self.made += 1
        return str(UUID(int=self.made))


def _reachable(chain: str, waits: Edges) -> set[str]:
    reached: set[str] = set()
    left = list(waits.get(chain, ()))
    while left:
        if (each := left.pop()) not in reached:
            reached.add(each)
            left += waits.get(each, ())
    return reached


def _is_cycle(answer: Any) -> bool:
    return isinstance(answer, Raised) and answer.type is DependencyCycle


class Sqlite(OnSqlite, Graph):
    pass


class Postgres(OnPostgres, Graph):
    pass


class Redis(OnRedis, Graph):
    pass


TestSqlite = as_case(Sqlite, examples=30, steps=30)
TestPostgres = as_case(Postgres, examples=30, steps=30, share=0.3)
TestRedis = as_case(Redis, examples=30, steps=30)
