"""A mutant: the texts of the library that it changes, and who should notice."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """A text to be replaced in a source of the library: a module, a statement (`package:name`) or a script (`.lua`)."""

    where: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is taken away, from which stores, and which invariants should notice: any of them will do."""

    missing: str
    caught_by: tuple[int, ...]
    by_store: dict[str, tuple[Edit, ...]] = field(default_factory=dict[str, tuple[Edit, ...]])
    everywhere: tuple[Edit, ...] = ()
    """Edits that do not depend on the store."""
    stores: tuple[str, ...] = ()
    """Where it can be tried; by default where it has edits of its own, or everywhere."""
    favour: tuple[str, ...] = ()
    """Operations that a producer should perform more often, so that the race comes about soon."""
    faults: tuple[str, ...] = ()
    """Kinds of faults to choose from; all of them where none is named."""
    longer: float = 0.0
    """Seconds more of load."""
    patience: float = 0.0
    """Seconds more for everything to come to rest."""
    supervised: bool = False
    """Whether it takes a supervisor to notice."""
    interrupted: bool = False
    """Whether it takes a producer whose blocking calls are interrupted."""
    deaf: bool = False
    """Whether every worker loses every wake-up."""
    workers_clock: bool = False
    address: str = ""
    """What is appended to the store's address."""

    def edits(self, store: str) -> tuple[Edit, ...]:
        return self.everywhere + self.by_store.get(store, ())

    def fits(self, store: str) -> bool:
        return store in (self.stores or tuple(self.by_store) or ("sqlite", "postgres", "redis"))


def sqlite(statement: str, old: str, new: str) -> Edit:
    return Edit(f"holdfast.stores.sqlite.sql:{statement}", old, new)


def postgres(statement: str, old: str, new: str) -> Edit:
    return Edit(f"holdfast.stores.postgres.sql:{statement}", old, new)
