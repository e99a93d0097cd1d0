"""Which jobs a claim takes from the tracks that it has read. Pure: no clock, no I/O."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.core.clock import Micros
from holdfast.core.lanes import Lane, Track, WaitingJob

_NOTHING: Mapping[str, int] = {}

LEVELS = 4
"""Of this many priorities, a claim reads as many jobs as it may take. Of lower ones it reads one job of each track."""


@dataclass(slots=True)
class Choice:
    """What a claim takes."""

    taken: list[tuple[Track, WaitingJob]] = field(default_factory=list[tuple[Track, WaitingJob]])
    plain: int = 0
    """How many jobs without lanes, best first."""
    parked: dict[str, str] = field(default_factory=dict[str, str])
    """Track to the lane that it waits for."""
    lanes_next: bool = True
    """Whether a job with lanes is next, at equal priority."""


def jobs_to_read(tracks: Iterable[Track], limit: int) -> dict[int, int]:
    """By priority, how many jobs of each of these tracks a claim of `limit` jobs reads."""
    tracks_of = Counter(track.priority for track in tracks)
    levels = sorted(tracks_of, reverse=True)
    return {each: -(-limit // tracks_of[each]) if place < LEVELS else 1 for place, each in enumerate(levels)}


def choose(
    tracks: Sequence[Track],
    lanes: Mapping[str, Lane],
    plain: Iterable[int],
    *,
    limit: int,
    now: Micros,
    lanes_next: bool,
    unread: int | None = None,
    behind: Mapping[str, int] = _NOTHING,
) -> Choice:
    """Choose up to `limit` jobs of these tracks, in their order, and of the plain jobs with these priorities.

    Higher priorities come first. At equal priority the choice alternates between plain jobs and tracks, and takes one
    job of each track in turn. The state of the lanes is changed.

    The choice ends early if a job that was not read may be better than the next one. `unread`: the highest priority of
    further tracks, which were not read. `behind`: by lane, the highest priority of the tracks that stay parked there.
    """
    choice = Choice(lanes_next=lanes_next)
    by_priority: dict[int, deque[Track]] = {}
    for track in tracks:
        by_priority.setdefault(track.priority, deque()).append(track)
    unclaimed = Counter(plain)
    others = _Unread(lanes, now, unread, behind)
    taken, room = choice.taken, limit
    for priority in sorted(by_priority.keys() | unclaimed.keys(), reverse=True):
        queue, left = by_priority.get(priority, deque[Track]()), unclaimed[priority]
        while room > 0 and (queue or left):
            if others.may_precede(priority, has_tracks=bool(queue)):
                return choice
            if left and not (queue and choice.lanes_next):
                choice.plain += 1
                room -= 1
                left -= 1
                choice.lanes_next = True
                continue
            track = queue.popleft()
            if not track.jobs:
                if track.more:
                    return choice
                continue
            job = track.jobs[0]
            if (full := _full_lane(track, job, lanes, now)) is not None:
                choice.parked[track.id] = full
                if others.hidden is None and len(track.lanes) > 1 and _hides_others(track, full, lanes, now):
                    others.hidden = priority
                continue
            for lane in track.lanes:
                lanes[lane].take(track, job, now)
            taken.append((track, track.jobs.pop(0)))
            room -= 1
            choice.lanes_next = False
            if track.jobs or (track.more and all(lanes[lane].has_room_after(job, now) for lane in track.lanes)):
                queue.append(track)
    return choice


class _Unread:
    """The highest priorities of jobs that the claim did not read, and that may start now."""

    def __init__(self, lanes: Mapping[str, Lane], now: Micros, tracks: int | None, behind: Mapping[str, int]) -> None:
        self.hidden: int | None = None
        """Of tracks at a lane where a track that waits for another lane has left room."""
        self._tracks = tracks
        self._lanes, self._now, self._behind = lanes, now, behind
        self._best_behind = max(behind.values(), default=None)

    def may_precede(self, priority: int, *, has_tracks: bool) -> bool:
        """Whether a job that was not read may be better than the next one of this priority.

        `has_tracks`: tracks of this priority are left. Then only a higher priority is better.
        """
        at_least = priority + 1 if has_tracks else priority
        if self.hidden is not None and self.hidden >= at_least:
            return True
        if not has_tracks and self._tracks is not None and self._tracks >= at_least:
            return True
        if self._best_behind is None or self._best_behind < at_least:
            return False
        lanes, now = self._lanes, self._now  # `choose` has changed the lanes
        self._best_behind = max((best for lane, best in self._behind.items() if lanes[lane].free(now)), default=None)
        return self._best_behind is not None and self._best_behind >= at_least


def _full_lane(track: Track, job: WaitingJob, lanes: Mapping[str, Lane], now: Micros) -> str | None:
    for lane in track.lanes:
        if not lanes[lane].allows(track, job, now):
            return lane
    return None


def _hides_others(track: Track, full: str, lanes: Mapping[str, Lane], now: Micros) -> bool:
    """Whether a track that waits for one lane leaves room at another, for tracks that are parked there."""
    return any(lanes[lane].parked and lanes[lane].free(now) for lane in track.lanes if lane != full)
