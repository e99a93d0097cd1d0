"""Two stores that are asked the same and must answer the same."""

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
    """An error as an answer."""

    type: type[HoldfastError]
    attributes: dict[str, Any]


class Pair:
    """The model and a store that claims to be like it, under one clock."""

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
        """Ask both, compare the answers, and give the model's."""
        said: R | Raised = _ask(self.model, operation)
        other: R | Raised = _ask(self.store, operation)
        assert comparable(other) == comparable(said), f"after {operation}"
        return said

    def page(self, wanted: Filter, limit: int) -> None:
        """Walk both through a listing of jobs and one of chains, page by page, each by its own numbers."""
        assert comparable(_jobs(self.store, wanted, limit)) == comparable(_jobs(self.model, wanted, limit))
        assert comparable(_chains(self.store, wanted, limit)) == comparable(_chains(self.model, wanted, limit))

    def close(self) -> None:
        for store in self._both:
            store.close_sync()


def comparable(answer: Any) -> Any:
    """An answer without what may differ from store to store: numbers that only order, and the order of sets."""
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


def _ask(store: Store, operation: Operation[R]) -> R | Raised:
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
