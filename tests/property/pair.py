"""Two stores that receive the same operations and must return the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from holdfast.core.details import read_details, write_details
from holdfast.core.error_groups import GroupedErrors
from holdfast.core.lanes import Lane, LaneRule
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Delete,
    EventRow,
    Filter,
    GetLanes,
    GetLimits,
    LaneReport,
    LimitReport,
    ListChains,
    Listing,
    ListJobs,
    Operation,
    ReadEvents,
    Reap,
    RetryJobs,
    Settle,
    Settled,
    Start,
)
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError
from holdfast.stores.memory import MemoryStore
from holdfast.testing.clock import ManualClock
from tests.property.answers import Raised, raised
from tests.property.hook_ids import HookIds, failed_job, translated
from tests.property.model_claim import follow

R = TypeVar("R")
T = TypeVar("T")

FAILING = (CancelChains, Complete, Delete, Reap, RetryJobs, Settle, Start)
"""Operations that may fail a job, and so start a hook."""

SCAN = 5
"""Rows that one page reads beyond those that an index finds: few, so that pages are short."""


class Pair:
    """The memory store as the model, and the tested store, with the same clock."""

    def __init__(self, model: MemoryStore, store: Store) -> None:
        self.clock = ManualClock()
        self.model = model
        self.store = store
        self._hooks = (HookIds(), HookIds())
        self._of_model: dict[str, str] = {}
        """The id of a hook in the tested store to its id in the model."""
        self._of_store: dict[str, str] = {}
        for one in self._both:
            one.clock = self.clock
            one.open_sync()

    @property
    def _both(self) -> tuple[Store, Store]:
        return self.model, self.store

    def perform(self, operation: Operation[R]) -> R | Raised:
        """Perform on both stores, compare the results, and return that of the model."""
        expected: R | Raised
        expected, other = self.perform_each(operation)
        assert comparable(other) == comparable(expected), f"after {operation}"
        return expected

    def perform_each(self, operation: Operation[Any]) -> tuple[Any, Any]:
        """Perform on both stores. Both results have the ids of the model."""
        expected = _perform(self.model, operation)
        other = _perform(self.store, translated(operation, self._of_store))
        if isinstance(operation, FAILING):
            self._find_hooks()
        return expected, translated(other, self._of_model)

    def to_store(self, id: str) -> str:
        """The id in the tested store."""
        return self._of_store.get(id, id)

    def to_model(self, job: Record) -> Record:
        """A job of the tested store, with the ids of the model."""
        translated_job: Record = translated(job, self._of_model)
        return translated_job

    def _find_hooks(self) -> None:
        ours, theirs = self._hooks
        ours.find(self.model, {})
        theirs.find(self.store, self._of_model)
        assert ours.by_failure.keys() == theirs.by_failure.keys()
        for failure, id in theirs.by_failure.items():
            self._of_model[id] = ours.by_failure[failure]
            self._of_store[ours.by_failure[failure]] = id

    def page(self, wanted: Filter, limit: int) -> None:
        """Compare the pages of jobs and of chains of both stores. Each store uses its own cursors."""
        ours = translated(wanted, self._of_store)
        for read in (_jobs, _chains):
            found = translated(read(self.store, ours, limit), self._of_model)
            assert comparable(found) == comparable(read(self.model, wanted, limit))

    def claim(self, operation: ClaimJobs) -> list[Record]:
        """Claim in the tested store. The model checks the choice, and claims the same jobs."""
        claimed: list[Record] = translated(self.store.perform_sync(operation), self._of_model)
        rules = [rule for found in self.model._state.lanes.of.values() for rule in found.rules]  # pyright: ignore[reportPrivateUsage]
        rates = [each.lane for each in self.store.perform_sync(_lanes_of(rules)) if each.lane.kind == "rate"]
        followed = follow(self.model, operation, [job.id for job in claimed], rates)
        assert comparable(claimed) == comparable(followed)
        return followed

    def events(self, after: Sequence[int]) -> tuple[list[EventRow], list[EventRow]]:
        """The events of both stores that are newer than these numbers."""
        ours, theirs = after
        found = self.store.perform_sync(ReadEvents(theirs, 1000))
        return self.model.perform_sync(ReadEvents(ours, 1000)), translated(found, self._of_model)

    def limits(self) -> set[str]:
        """Compare the limits, and return the names of those that both know.

        A SQL store knows a limit after a claim, or while a job waits for it.
        """
        ours = {each.name: each for each in self.model.perform_sync(GetLimits())}
        theirs = {each.name: each for each in translated(self.store.perform_sync(GetLimits()), self._of_model)}
        both = ours.keys() & theirs.keys()
        assert {name: comparable(theirs[name]) for name in theirs} == {name: comparable(ours[name]) for name in both}
        assert not any(lane.running or lane.waiting for name in ours.keys() - both for lane in ours[name].lanes)
        return both

    def lanes(self, rules: Sequence[LaneRule]) -> None:
        """Compare the states of the lanes of these rules. A store may leave out lanes that no job has had."""
        now = self.clock()
        ours = {each.lane.id: each for each in self.model.perform_sync(_lanes_of(rules))}
        for facts in self.store.perform_sync(_lanes_of(rules)):
            other = ours.pop(facts.lane.id, None)
            if other is None:
                assert (facts.lane.running, facts.holders) == (0, ())
                continue
            front = translated(facts.lane.front, self._of_model)
            holders = translated(facts.holders, self._of_model)
            assert _lane(facts.lane, now) == _lane(other.lane, now)
            assert (front, sorted(holders)) == (other.lane.front, sorted(other.holders)), facts.lane.id
        assert not any(left.lane.running for left in ours.values())

    def close(self) -> None:
        for store in self._both:
            store.close_sync()


def comparable(answer: Any) -> Any:
    """A result without what may differ between stores: sequence numbers, and the order of sets."""
    match answer:
        case Record():
            details = write_details(read_details(answer.details))
            return msgspec.structs.replace(answer, seq=0, input=_payload(answer), details=details)
        case EventRow():
            return answer._replace(seq=0)
        case ChainRecord(first, last):
            return comparable(first), comparable(last)
        case Settled(lost, refused, unblocked):
            return lost, comparable(refused), sorted(unblocked)
        case HoldfastError():
            return comparable(raised(answer))
        case Raised(type, attributes):
            references: list[tuple[str, str]] = attributes.get("references", [])
            return type, attributes | {"references": sorted(references)}
        case GroupedErrors(group, failed, retried):
            return group._replace(example=""), failed, retried  # a batch may have several that are equally recent
        case LimitReport():
            return answer._replace(lanes=tuple(sorted(map(comparable, answer.lanes))))
        case LaneReport():
            return answer._replace(holders=tuple(sorted(answer.holders)))
        case list() | tuple():
            return [comparable(one) for one in answer]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return answer


def _lanes_of(rules: Iterable[LaneRule]) -> GetLanes:
    """The lanes of these rules, each once."""
    return GetLanes(tuple({rule.lane: rule for rule in rules}.values()))


def _lane(lane: Lane, now: int) -> tuple[Any, ...]:
    paid_off = max(lane.tat, now) if lane.kind == "rate" else None
    return lane.id, lane.kind, lane.number, lane.per, lane.burst, lane.running, paid_off


def _payload(job: Record) -> Any:
    """The input of a job. A store may write the JSON of a hook in another way."""
    return job.input if failed_job(job) is None else msgspec.json.decode(job.input)


def _perform(store: Store, operation: Operation[R]) -> R | Raised:
    try:
        return store.perform_sync(operation)
    except HoldfastError as error:
        return raised(error)


def _jobs(store: Store, wanted: Filter, limit: int) -> list[Record]:
    return _pages(store, lambda before: ListJobs(wanted, limit, before, scan=SCAN), limit)


def _chains(store: Store, wanted: Filter, limit: int) -> list[ChainRecord]:
    return _pages(store, lambda before: ListChains(wanted, limit, before, scan=SCAN), limit)


def _pages(store: Store, page_before: Callable[[int | None], Operation[Listing[T]]], limit: int) -> list[T]:
    """All rows of a list, in pages that are limited and may be short."""
    page = store.perform_sync(page_before(None))
    seen = list(page)
    while page.next_before is not None:
        page = store.perform_sync(page_before(page.next_before))
        assert len(page) <= limit
        seen += page
    return seen
