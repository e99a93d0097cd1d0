"""Locks of jobs: a step takes all that it needs at once, and while it waits for one it holds none.

So no step is ever part of a circle of transactions that wait for each other, in whatever order others take the rows: in
a circle each transaction holds something. What a transaction took in an earlier step it keeps, of course.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeVar

from holdfast.core.clock import Micros
from holdfast.stores.postgres.execution import HELD, LET_GO, TRY, Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Plan, Statement

_LOCK = SQL["lock_jobs"]

T = TypeVar("T")


class Wanted(NamedTuple):
    """Jobs to lock: those that will change, and those that must only neither end nor go."""

    changed: Collection[int]
    kept: Collection[int] = ()


class _Held:
    """Jobs that are locked."""

    def __init__(self) -> None:
        self._changed: set[int] = set()
        self._kept: set[int] = set()

    def missing(self, wanted: Wanted) -> Wanted:
        """What of this is not locked."""
        changed = set(wanted.changed) - self._changed
        return Wanted(changed, set(wanted.kept) - self._kept - self._changed - changed)

    def lock(self, wanted: Wanted, first: int | None = None, *, now: Micros | None = None) -> Plan[None]:
        """Lock what is free; only the first is waited for. A session of a worker that is gone is terminated instead."""
        kept = set(wanted.kept).difference(wanted.changed)
        rows = yield Statement(
            _LOCK,
            {
                "seqs": sorted(wanted.changed),
                "kept": sorted(kept),
                "first": None if first in kept else first,
                "first_kept": first if first in kept else None,
                "now": now,
            },
        )
        for seq, to_change in rows:
            (self._changed if to_change else self._kept).add(seq)


Look = Callable[[], Plan[tuple[T, Wanted]]]
"""Answers something, and the jobs that must be held for it to stay true."""


def hold(turn: Turn, look: Look[T], *, keys: Callable[[], Plan[None]] | None = None) -> Plan[T]:
    """Lock what a look names, until the transaction ends; answers what the look found under the locks.

    A transaction that holds one of the jobs is waited for, and then it is looked again, as often as the look names a
    job that is not held. `keys` holds what comes before any job: keys are waited for, in their order, while no job is
    held. After a wait the turn's time is asked for again.
    """
    yield TRY
    if keys is not None:
        yield from keys()
    found, wanted = yield from look()
    first: int | None = None
    while any(wanted):
        held = _Held()
        yield from held.lock(wanted, first, now=turn.clock)
        if first is not None:
            yield from turn.ask_again()
        found, wanted = yield from look()
        # A job may only be new, and free: for that, what was waited for is not let go. In a crowd it would never end.
        while any(busy := held.missing(wanted)):
            yield from held.lock(busy)
            if any(busy := held.missing(busy)):
                break
            found, wanted = yield from look()
        if not any(busy):
            break
        first = min([*busy.changed, *busy.kept])
        yield LET_GO
        if keys is not None:
            # The job is only waited for, not kept: who waits for keys holds no job either.
            alone = Wanted([first]) if first in busy.changed else Wanted([], [first])
            yield from _Held().lock(alone, first, now=turn.clock)
            first = None
            yield LET_GO
            yield from turn.ask_again()
            yield from keys()
    yield HELD
    return found


def hold_free(seqs: Collection[int]) -> Plan[set[int]]:
    """Lock jobs that will change without waiting for any transaction; answers those that could be."""
    if not seqs:
        return set()
    parameters = {"seqs": sorted(seqs), "kept": [], "first": None, "first_kept": None, "now": None}
    return {seq for seq, _ in (yield Statement(_LOCK, parameters))}
