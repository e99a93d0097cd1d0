"""Row locks on jobs: an operation locks all jobs that it needs at once, and while it waits for one lock it holds none.

In a deadlock each transaction holds a lock and waits for another. An operation that waits holds none, so it is never
part of a deadlock. The order in which other transactions lock the rows does not matter. Locks of earlier operations in
the same transaction are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeVar

from holdfast.core.clock import Micros
from holdfast.stores.postgres.plan import Plan, ReleaseSavepoint, RollbackToSavepoint, Savepoint
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_LOCK = SQL["lock_jobs"]
_GUARD = SQL["guard_jobs"]
_GUARD_WAIT = SQL["guard_wait"]

T = TypeVar("T")


class Wanted(NamedTuple):
    """Jobs to lock, by what must not happen to them meanwhile."""

    changed: Collection[int]
    """Jobs that will change: no other operation may change them, or lock them as kept."""
    kept: Collection[int] = ()
    """Jobs that must not finish and not be deleted."""
    guarded: Collection[int] = ()
    """Jobs whose status must not change. Other operations may still name their chains as blockers."""


class _LockedJobs:
    """The jobs that are locked."""

    def __init__(self) -> None:
        self._changed: set[int] = set()
        self._kept: set[int] = set()
        self._guarded: set[int] = set()

    def missing(self, wanted: Wanted) -> Wanted:
        """The wanted jobs that are not locked."""
        changed = set(wanted.changed) - self._changed
        kept = set(wanted.kept) - self._kept - self._changed - changed
        return Wanted(changed, kept, set(wanted.guarded) - self._guarded - self._changed - changed)

    def lock(self, wanted: Wanted, first: int | None = None, *, now: Micros | None = None) -> Plan[None]:
        """Lock the free jobs. Wait only for `first`, but terminate the session of a lost worker that holds it."""
        if first in wanted.guarded:
            yield Statement(_GUARD_WAIT, {"seq": first})
            first = None
        if wanted.changed or wanted.kept:
            yield from self._lock(wanted, first, now)
        if wanted.guarded:
            self._guarded.update(seq for (seq,) in (yield Statement(_GUARD, {"seqs": sorted(wanted.guarded)})))

    def _lock(self, wanted: Wanted, first: int | None, now: Micros | None) -> Plan[None]:
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


Find = Callable[[], Plan[tuple[T, Wanted]]]
"""Returns a result, and the jobs that must be locked for the result to stay valid."""


def lock(context: PlanContext, find: Find[T], *, keys: Callable[[], Plan[None]] | None = None) -> Plan[T]:
    """Lock the jobs that `find` names until the end of the transaction. Returns what `find` found under the locks.

    If another transaction holds one of the jobs, wait for it, and call `find` again until all its jobs are locked.
    `keys` locks keys. It runs before any job is locked, and may wait. After a wait the time of the plan is read
    again.
    """
    yield Savepoint()
    if keys is not None:
        yield from keys()
    found, wanted = yield from find()
    first: int | None = None
    while any(wanted):
        locked = _LockedJobs()
        yield from locked.lock(wanted, first, now=context.clock)
        if first is not None:
            yield from context.update_time()
        found, wanted = yield from find()
        # A job that is not locked may be new and free. Keep the locks then: if many transactions wait, releasing the
        # locks each time might never end.
        while any(busy := locked.missing(wanted)):
            yield from locked.lock(busy)
            if any(busy := locked.missing(busy)):
                break
            found, wanted = yield from find()
        if not any(busy):
            break
        first = min([*busy.changed, *busy.kept, *busy.guarded])
        yield RollbackToSavepoint()
        if keys is not None:
            # Wait for the job, but do not keep its lock: no job may be locked while `keys` waits.
            alone = Wanted(*([first] if first in seqs else [] for seqs in busy))
            yield from _LockedJobs().lock(alone, first, now=context.clock)
            first = None
            yield RollbackToSavepoint()
            yield from context.update_time()
            yield from keys()
    yield ReleaseSavepoint()
    return found


def lock_free(seqs: Collection[int]) -> Plan[set[int]]:
    """Lock jobs that will change, without waiting. Returns those that could be locked."""
    if not seqs:
        return set()
    parameters = {"seqs": sorted(seqs), "kept": [], "first": None, "first_kept": None, "now": None}
    return {seq for seq, _ in (yield Statement(_LOCK, parameters))}
