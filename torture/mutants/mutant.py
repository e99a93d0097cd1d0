"""A mutant: the source texts that it changes, and the invariants that must detect it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in a source of the library: a module, a statement or a migration (`package:name`), or a script."""

    where: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """The protection that is missing, on which stores, and the invariants of which at least one must be violated."""

    missing: str
    caught_by: tuple[int, ...]
    by_store: dict[str, tuple[Edit, ...]] = field(default_factory=dict[str, tuple[Edit, ...]])
    everywhere: tuple[Edit, ...] = ()
    """Edits that do not depend on the store."""
    stores: tuple[str, ...] = ()
    """The stores to run it on; by default those in `by_store`, or all."""
    favour: tuple[str, ...] = ()
    """Operations that a producer performs more often, so that the race happens soon."""
    faults: tuple[str, ...] = ()
    """Kinds of faults to choose from; by default all."""
    often: dict[str, float] = field(default_factory=dict[str, float])
    """Probabilities of single failpoints of the workers, such as `stop before save_steps`."""
    rate: float | None = None
    """Operations per second of a producer that performs the favoured ones only; by default the mix at the usual rate.
    A job that waits behind many others does not run again while its stale attempt continues."""
    longer: float = 0.0
    """Additional seconds of load."""
    settle_longer: float = 0.0
    """Additional seconds for finishing all due jobs after the load."""
    supervised: bool = False
    """Whether the run needs a supervisor."""
    interrupted: bool = False
    """Whether the run needs a producer whose blocking calls are interrupted."""
    without_wakeups: bool = False
    """Whether every worker loses every wake-up."""
    workers_clock: bool = False
    address: str = ""
    """A suffix of the store's address."""

    def edits(self, store: str) -> tuple[Edit, ...]:
        return self.everywhere + self.by_store.get(store, ())

    def fits(self, store: str) -> bool:
        return store in (self.stores or tuple(self.by_store) or ("sqlite", "postgres", "redis"))


def sqlite(statement: str, old: str, new: str) -> Edit:
    return Edit(f"holdfast.stores.sqlite.sql:{statement}", old, new)


def postgres(statement: str, old: str, new: str) -> Edit:
    return Edit(f"holdfast.stores.postgres.sql:{statement}", old, new)
