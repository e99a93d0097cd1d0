"""Locks of jobs: a step takes all that it needs at once, and while it waits for one it holds none.

So no step ever stands in a circle of those who wait for each other, in whatever order anybody comes to the rows: in a
circle everybody holds something. What a transaction took in an earlier step it keeps, of course.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from holdfast.sql.plan import Plan, Statement
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.turn import HELD, LET_GO, TRY, Turn

_LOCK = SQL["lock_jobs"]

T = TypeVar("T")

Look = Callable[[], Plan[tuple[T, Collection[int]]]]
"""Answers something, and the jobs that must be held for it to stay true."""


def hold(turn: Turn, look: Look[T], *, keys: Callable[[], Plan[None]] | None = None) -> Plan[T]:
    """Lock what a look names, until the transaction ends; answers what the look found under the locks.

    Whoever is busy with one of the jobs is waited for, and then it is looked again, as often as the look names a job
    that is not held. `keys` holds what comes before any job: keys are waited for, in their order, while no job is held.
    After a wait the turn's time is asked for again.
    """
    yield TRY
    if keys is not None:
        yield from keys()
    found, wanted = yield from look()
    first: int | None = None
    while wanted:
        held = yield from _lock(wanted, first)
        if first is not None:
            yield from turn.ask_again()
        found, wanted = yield from look()
        # A job may only be new, and free: for that, what was waited for is not let go. In a crowd it would never end.
        while busy := set(wanted) - held:
            held |= yield from hold_free(busy)
            busy -= held
            if busy:
                break
            found, wanted = yield from look()
        if not busy:
            break
        first = min(busy)
        yield LET_GO
        if keys is not None:
            # The job is only waited for, not kept: who waits for keys holds no job either.
            yield from _lock([first], first)
            first = None
            yield LET_GO
            yield from turn.ask_again()
            yield from keys()
    yield HELD
    return found


def hold_free(seqs: Collection[int]) -> Plan[set[int]]:
    """Lock jobs without waiting for anybody; answers those that could be."""
    return (yield from _lock(seqs, None)) if seqs else set()


def _lock(seqs: Collection[int], first: int | None) -> Plan[set[int]]:
    return {seq for (seq,) in (yield Statement(_LOCK, {"seqs": sorted(seqs), "first": first}))}
