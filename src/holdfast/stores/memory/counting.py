"""Counters: changes are appended while a verb runs, and added up later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.core import counters
from holdfast.core.clock import Micros
from holdfast.core.counters import KEPT_MINUTES, TOTAL, CounterChange, Kind, minute_of
from holdfast.core.error_groups import KEPT, StoredFailure, add_failures
from holdfast.core.record import Record

if TYPE_CHECKING:
    from holdfast.stores.memory.state import State

ADDED_UP_AT = 1000
"""This many changes are added up at once."""

_NEW = ""


def count_started(state: State, numbers: Mapping[str, int], now: Micros) -> None:
    """Count created jobs. `numbers`: how many of each type."""
    minute, started = minute_of(now), state.started
    for type, number in numbers.items():
        place = type, minute
        state.set(started, place, started.get(place, 0) + number)


def count(state: State, job: Record, kind: Kind, now: Micros, failure: StoredFailure | None = None) -> None:
    """Count what happened to a job outside of an attempt, or to an attempt that its worker did not settle."""
    _append(state, CounterChange(job.type, minute_of(now), kind, 1, at=now), job, failure)


def count_completed(state: State, times: Mapping[str, list[tuple[Micros, Micros]]], now: Micros) -> None:
    """Count the attempts that completed their jobs. `times`: per type, when each was due and when it began."""
    for type, same in times.items():
        state.append(state.changes, _NEW, counters.settled_together(type, "completed", now, same))


def count_settled(
    state: State, job: Record, kind: Kind, now: Micros, failure: StoredFailure | None = None, *, timed: bool = True
) -> None:
    """Count an attempt that its worker settled."""
    change = counters.ended(job.type, kind, now, scheduled_at=job.scheduled_at, started_at=job.started_at, timed=timed)
    _append(state, change, job, failure)


def _append(state: State, change: CounterChange, job: Record, failure: StoredFailure | None) -> None:
    if failure is not None:
        change = change._replace(fingerprint=failure.fingerprint, summary=failure.summary, example=job.id)
    if change.kind == "failed":
        if failure is None:
            state.drop(state.fingerprints, job.id)
        else:
            state.set(state.fingerprints, job.id, failure.fingerprint)
    state.append(state.changes, _NEW, change)


def must_add_up(state: State) -> bool:
    return len(state.changes.get(_NEW, ())) >= ADDED_UP_AT


def add_up(state: State) -> None:
    """Add up the changes of committed operations."""
    changes = [CounterChange(type, minute, "started", number) for (type, minute), number in state.started.items()]
    changes += state.changes.get(_NEW, ())
    for place, counts in counters.add_up(changes, state.counts).items():
        state.set(state.counts, place, counts)
    groups, occurrences = add_failures(changes, state.groups, state.occurrences)
    for fingerprint, group in groups.items():
        state.set(state.groups, fingerprint, group)
    for occurrence, numbers in occurrences.items():
        state.set(state.occurrences, occurrence, numbers)
    state.drop(state.changes, _NEW)
    for started in list(state.started):
        state.drop(state.started, started)


def forget_old(state: State, now: Micros) -> None:
    """Remove minutes that are older than a day, and groups without a recent failure."""
    oldest = minute_of(now) - KEPT_MINUTES + 1
    for place in [place for place in state.counts if TOTAL < place[1] < oldest]:
        state.drop(state.counts, place)
    old = {fingerprint for fingerprint, group in state.groups.items() if group.last_at < now - KEPT}
    for fingerprint in old:
        state.drop(state.groups, fingerprint)
    for occurrence in [each for each in state.occurrences if each[0] in old or TOTAL < each[1] < oldest]:
        state.drop(state.occurrences, occurrence)
