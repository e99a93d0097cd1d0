"""What the due ticks of a schedule mean: which chains start, and which ticks are skipped or missed. Pure.

A worker reads a due schedule, calls `handle_ticks`, and writes the result if the schedule did not change meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

import msgspec

from holdfast.core.clock import SECOND, Micros
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import ChainRecord
from holdfast.core.schedule import ScheduleRecord, TickCounts, first_job, tick_id

ON_TIME: Final = 60 * SECOND
"""A tick that is noticed later than this is missed."""
MAX_TICKS: Final = 1000
"""Ticks that one call handles. After a long downtime there may be many more."""
MAX_STARTS: Final = 50
"""Chains that one call starts."""
MAX_UNFINISHED: Final = 100


@dataclass(slots=True)
class HandledTicks:
    """A schedule after some of its due ticks were handled, and what must happen together with this change."""

    record: ScheduleRecord
    starts: list[NewJob] = field(default_factory=list[NewJob])
    cancels: list[str] = field(default_factory=list[str])
    """Chains to cancel before the change is written."""


def has_begun(found: ChainRecord) -> bool:
    """Whether a chain is past the beginning of its first attempt. A suspended job has begun, but its attempt is 0."""
    return found.last.index > 0 or found.last.started_at is not None


def unfinished_chains(chains: Iterable[ChainRecord | None]) -> dict[str, bool]:
    """The chains that have not ended, each with whether it has begun."""
    return {found.first.id: has_begun(found) for found in chains if found and not found.last.status.finished}


def handle_ticks(record: ScheduleRecord, now: Micros, unfinished: Mapping[str, bool]) -> HandledTicks:
    """Decide about the ticks that are due.

    `unfinished` are the chains of the schedule that have not ended, each with whether it has begun. If more ticks are
    due than one call handles, the next tick of the result is due too.
    """
    ticks = list(islice(chain([record.next_at], record.ticks(record.next_at)), MAX_TICKS + 1))
    due = [tick for tick in ticks[:MAX_TICKS] if tick <= now]
    latest = due[-1] if due and len(due) < len(ticks) and ticks[len(due)] > now else None
    decision = _Decision(record, dict(unfinished))
    handled = 0
    for tick in due:
        if len(decision.starts) >= MAX_STARTS:
            break
        decision.decide(tick, late=now - tick, is_latest=tick == latest)
        handled += 1
    following = ticks[handled] if handled < len(ticks) else record.next_at + 100 * 366 * 86_400 * SECOND
    return decision.result(following)


class _Decision:
    """Collects what the ticks of one call do, in order."""

    def __init__(self, record: ScheduleRecord, unfinished: dict[str, bool]) -> None:
        self._record = record
        self._declaration = record.declaration
        self._unfinished = unfinished
        self.starts: dict[Micros, NewJob] = {}
        self._cancels: list[str] = []
        self._skipped = 0
        self._missed = 0

    def decide(self, tick: Micros, *, late: Micros, is_latest: bool) -> None:
        declaration = self._declaration
        if self._record.paused:
            self._skipped += 1
        elif late <= ON_TIME or (late <= declaration.within and declaration.missed == "latest" and is_latest):
            self._overlap(tick)
        elif late <= declaration.within and declaration.missed == "all":
            self._make_up(tick)
        else:
            self._missed += 1

    def _overlap(self, tick: Micros) -> None:
        """Start the chain of a tick, or skip it, depending on the chains that have not ended."""
        match self._declaration.overlap:
            case "skip" if self._unfinished:
                self._skipped += 1
            case "queue" if self._unfinished:
                if all(self._unfinished.values()):
                    self._start(tick, after=tuple(self._unfinished))
                else:
                    self._skipped += 1
            case "cancel":
                self._cancel_and_start(tick)
            case _:
                self._start(tick)

    def _make_up(self, tick: Micros) -> None:
        """Start the chain of a missed tick. It waits for the chains before it, unless they may overlap."""
        match self._declaration.overlap:
            case "allow":
                self._start(tick)
            case "cancel":
                self._cancel_and_start(tick)
            case _:
                self._start(tick, after=tuple(self._unfinished))

    def _cancel_and_start(self, tick: Micros) -> None:
        """Cancel chains that exist. Chains of earlier ticks of this call are not started at all."""
        planned = {job.id for job in self.starts.values()}
        self._cancels += [chain_id for chain_id in self._unfinished if chain_id not in planned]
        self._skipped += len(planned)
        self.starts.clear()
        self._unfinished.clear()
        self._start(tick)

    def _start(self, tick: Micros, *, after: tuple[str, ...] = ()) -> None:
        job = first_job(self._declaration, tick_id(self._record.name, tick), tick, after=after)
        self.starts[tick] = job
        if self._declaration.overlap != "allow":
            self._unfinished = {chain_id: begun for chain_id, begun in self._unfinished.items() if not after}
            self._unfinished[job.id] = False

    def result(self, following: Micros) -> HandledTicks:
        record = self._record
        counts = TickCounts(
            record.counts.started + len(self.starts),
            record.counts.skipped + self._skipped,
            record.counts.missed + self._missed,
        )
        last_tick, last_chain = record.last_tick, record.last_chain
        if self.starts:
            last_tick = max(self.starts)
            last_chain = self.starts[last_tick].id
        changed = msgspec.structs.replace(
            record,
            next_at=following,
            counts=counts,
            last_tick=last_tick,
            last_chain=last_chain,
            unfinished=tuple(self._unfinished)[-MAX_UNFINISHED:],
        )
        return HandledTicks(changed, list(self.starts.values()), self._cancels)
