"""The tracks of the memory store: which of them a claim reads, and in which order."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.core.clock import Micros
from holdfast.core.lanes import JobLanes, Track
from holdfast.core.record import Record

Ranked = list[tuple[int, int, str]]
"""A heap of (-priority, turn, track). Outdated entries are skipped."""


@dataclass(slots=True)
class StoredTrack:
    """A track, its waiting jobs, and the lane where it is parked."""

    track: Track
    order: str | None
    """The lane of its order, if it has one."""
    turn: int
    """Tracks with a lower turn come first."""
    parked: str | None = None
    waiting: list[tuple[Micros, int, str]] = field(default_factory=list[tuple[Micros, int, str]])
    """A heap of (scheduled_at, seq, job id); outdated entries are skipped."""

    @property
    def rank(self) -> tuple[int, int, str]:
        return (-self.track.priority, self.turn, self.track.id)


class Tracks:
    """A track is ready, or waits until its first job is due, or is parked at a lane."""

    def __init__(self) -> None:
        self.by_id: dict[str, StoredTrack] = {}
        self._same_fair: dict[str, set[str]] = defaultdict(set)
        """By lane: the tracks whose fairness depends on it."""
        self._ready: dict[str, Ranked] = defaultdict(list)
        """By type."""
        self._timed: dict[str, list[tuple[Micros, str]]] = defaultdict(list)
        """By type, a heap of (time, track): tracks whose first job is due then."""
        self._parked: dict[str, dict[str, Ranked]] = {}
        """By lane and type."""
        self._turn = 0

    def add(self, job: Record, lanes: JobLanes) -> None:
        """Add a pending job to its track, which becomes ready."""
        stored = self.by_id.get(lanes.track)
        if stored is None:
            self._turn += 1
            track = Track(lanes.track, job.type, job.priority, lanes.fair, [rule.lane for rule in lanes.rules])
            order = next((rule.lane for rule in lanes.rules if rule.kind == "order"), None)
            stored = self.by_id[lanes.track] = StoredTrack(track, order, self._turn)
            self._same_fair[lanes.fair].add(lanes.track)
        heapq.heappush(stored.waiting, (job.scheduled_at, job.seq, job.id))
        # A parked track stays where it is, except at an order: the new job may be the front.
        if stored.parked is None or stored.parked == stored.order:
            self.make_ready(stored)

    def remove(self, stored: StoredTrack) -> None:
        """Forget a track without waiting jobs."""
        self.by_id.pop(stored.track.id, None)
        self._same_fair[stored.track.fair].discard(stored.track.id)

    def make_ready(self, stored: StoredTrack) -> None:
        """Let the next claim read this track."""
        stored.parked = None
        heapq.heappush(self._ready[stored.track.type], stored.rank)

    def make_ready_at(self, stored: StoredTrack, at: Micros) -> None:
        """Let claims read this track from this time on."""
        stored.parked = None
        heapq.heappush(self._timed[stored.track.type], (at, stored.track.id))

    def park(self, stored: StoredTrack, lane: str) -> None:
        """Let claims pass over this track until the lane has changed."""
        stored.parked = lane
        heapq.heappush(self._parked.setdefault(lane, defaultdict(list))[stored.track.type], stored.rank)

    def parked_lanes(self) -> list[str]:
        return list(self._parked)

    def has_parked(self, lane: str) -> bool:
        """Whether tracks are parked at this lane."""
        by_type = self._parked.get(lane)
        if by_type is None:
            return False
        for type in [type for type, heap in by_type.items() if self._first_parked(heap, lane) is None]:
            del by_type[type]
        if not by_type:
            del self._parked[lane]
        return bool(by_type)

    def unpark(self, lane: str, room: int) -> list[str]:
        """Make up to `room` tracks of each type ready that are parked at this lane, best first. Returns the types."""
        types: list[str] = []
        for type, heap in self._parked.get(lane, {}).items():
            for _ in range(room):
                if (stored := self._first_parked(heap, lane)) is None:
                    break
                heapq.heappop(heap)
                self.make_ready(stored)
                types.append(type)
        return types

    def take_ready(self, types: Iterable[str], limit: int, now: Micros) -> list[StoredTrack]:
        """Up to `limit` ready tracks of these types, best first. The caller makes them ready again, or parks them."""
        heads = [(heap[0], type) for type in types if (heap := self._ready_heap(type, now))]
        heapq.heapify(heads)
        found: dict[str, StoredTrack] = {}
        while heads and len(found) < limit:
            (_, _, id), type = heads[0]
            heapq.heappop(self._ready[type])
            found.setdefault(id, self.by_id[id])
            if heap := self._ready_heap(type, now):
                heapq.heapreplace(heads, (heap[0], type))
            else:
                heapq.heappop(heads)
        return list(found.values())

    def served(self, track: Track) -> None:
        """Put the tracks of a lane that was served behind all others."""
        self._turn += 1
        for id in self._same_fair[track.fair]:
            stored = self.by_id[id]
            stored.turn = self._turn
            if stored.parked is not None:
                self.park(stored, stored.parked)
            elif id != track.id:
                self.make_ready(stored)

    def next_ready(self, types: Iterable[str], now: Micros) -> Micros | None:
        """When a track of these types is ready."""
        moments: list[Micros] = []
        for type in types:
            if self._ready_heap(type, now):
                return now
            if timed := self._timed.get(type):
                moments.append(timed[0][0])
        return min(moments, default=None)

    def _first_parked(self, heap: Ranked, lane: str) -> StoredTrack | None:
        while heap:
            stored = self.by_id.get(heap[0][2])
            if stored is not None and stored.parked == lane and stored.turn == heap[0][1]:
                return stored
            heapq.heappop(heap)
        return None

    def _ready_heap(self, type: str, now: Micros) -> Ranked:
        """The ready tracks of a type, without outdated entries at the head."""
        timed, heap = self._timed.get(type, []), self._ready[type]
        while timed and timed[0][0] <= now:
            stored = self.by_id.get(heapq.heappop(timed)[1])
            if stored is not None and stored.parked is None:
                self.make_ready(stored)
        while heap:
            stored = self.by_id.get(heap[0][2])
            if stored is not None and stored.parked is None and stored.turn == heap[0][1]:
                break
            heapq.heappop(heap)
        return heap
