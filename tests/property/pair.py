"""Two stores that receive the same operations and must return the same results."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import msgspec

from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import EventRow, Filter, ListChains, ListJobs, Operation, Settled
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError
from holdfast.testing.clock import ManualClock

R = TypeVar("R")


class Raised(NamedTuple):
    """An error as a result."""

    type: type[HoldfastError]
    attributes: dict[str, Any]


class Pair:
    """The memory store as the model, and the tested store, with the same clock."""

    def __init__(self, model: Store, store: Store) -> None:
        self.clock = ManualClock()
        self.model = model
        self.store = store
        for one in self._both:
            one.clock = self.clock
            one.open_sync()

    @property
    def _both(self) -> tuple[Store, Store]:
        return self.model, self.store

    def perform(self, operation: Operation[R]) -> R | Raised:
        """Perform on both stores, compare the results, and return that of the model."""
        expected: R | Raised = _perform(self.model, operation)
        other: R | Raised = _perform(self.store, operation)
        assert comparable(other) == comparable(expected), f"after {operation}"
        return expected

    def page(self, wanted: Filter, limit: int) -> None:
        """Compare the pages of jobs and of chains of both stores. Each store uses its own cursors."""
        assert comparable(_jobs(self.store, wanted, limit)) == comparable(_jobs(self.model, wanted, limit))
        assert comparable(_chains(self.store, wanted, limit)) == comparable(_chains(self.model, wanted, limit))

    def close(self) -> None:
        for store in self._both:
            store.close_sync()


def comparable(answer: Any) -> Any:
    """A result without what may differ between stores: sequence numbers, and the order of sets."""
    match answer:
        case Record():
            return msgspec.structs.replace(answer, seq=0)
        case EventRow():
            return answer._replace(seq=0)
        case ChainRecord(first, last):
            return comparable(first), comparable(last)
        case Settled(lost, refused, unblocked):
            return lost, None if refused is None else comparable(_raised(refused)), sorted(unblocked)
        case Raised(type, attributes):
            references: list[tuple[str, str]] = attributes.get("references", [])
            return type, attributes | {"references": sorted(references)}
        case list() | tuple():
            return [comparable(one) for one in answer]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return answer


def _perform(store: Store, operation: Operation[R]) -> R | Raised:
    try:
        return store.perform_sync(operation)
    except HoldfastError as error:
        return _raised(error)


def _raised(error: HoldfastError) -> Raised:
    return Raised(type(error), dict(vars(error)))


def _jobs(store: Store, wanted: Filter, limit: int) -> list[Record]:
    seen: list[Record] = []
    while page := store.perform_sync(ListJobs(wanted, limit, seen[-1].seq if seen else None)):
        assert len(page) <= limit
        seen += page
    return seen


def _chains(store: Store, wanted: Filter, limit: int) -> list[ChainRecord]:
    seen: list[ChainRecord] = []
    while page := store.perform_sync(ListChains(wanted, limit, seen[-1].first.seq if seen else None)):
        assert len(page) <= limit
        seen += page
    return seen
