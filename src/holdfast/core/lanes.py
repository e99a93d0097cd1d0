"""Lanes of limits, rates and orders: what is stored with a job, and which jobs a claim takes. Pure: no clock, no I/O.

Jobs of one type and priority that have the same lanes form a *track*. If the first job of a track must wait for a lane,
all jobs of the track must. So a claim reads tracks, not the jobs that wait. A track that must wait is *parked* at the
lane that it waits for, and is read again when that lane has changed.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import msgspec

from holdfast.core.clock import Micros

LaneKind = Literal["limit", "rate", "order"]

SEPARATOR: Final = "\x1f"
"""Between the name and the key in the id of a lane. A name does not contain it."""


class LaneRule(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One lane of a job, with its declaration. The store uses these numbers until a worker writes its own."""

    lane: str
    kind: LaneKind
    number: int = 1
    per: Micros = 0
    burst: int = 1
    weight: int = 1
    """How much of a rate an attempt of this job uses."""
    hold: bool = True
    """Whether a failed job holds an order."""
    chain: bool = False
    """Whether an order is held until the chain ends."""

    @property
    def name(self) -> str:
        return self.lane.partition(SEPARATOR)[0]

    @property
    def key(self) -> str:
        return self.lane.partition(SEPARATOR)[2]


class JobLanes(msgspec.Struct, frozen=True, gc=False):
    """The lanes of a job, as they are stored in its details."""

    track: str
    type: str
    priority: int
    fair: str
    """The lane that counts for fairness: that of the first limit with `by`, otherwise that of the first limit."""
    rules: tuple[LaneRule, ...]


def lane_id(name: str, key: str) -> str:
    """The id of a lane."""
    return f"{name}{SEPARATOR}{key}"


def job_lanes(type: str, priority: int, rules: tuple[LaneRule, ...], fair: str) -> JobLanes:
    """The lanes of a job of this type and priority. The same lanes give the same track in every process."""
    parts = (type, priority, fair, *(text for rule in rules for text in (rule.kind, rule.lane)))
    return JobLanes(fair_prefix(fair) + _digest(msgspec.json.encode(parts)), type, priority, fair, rules)


def fair_prefix(fair: str) -> str:
    """What the ids of all tracks with this lane for fairness begin with: the SQL stores find them by their ids."""
    return _digest(fair.encode())


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def check_override(name: str, kind: LaneKind, number: int | None) -> None:
    """ValueError if an operator cannot set this number: an order has 1, or 0 while it is paused."""
    if kind == "order" and number not in (None, 0):
        raise ValueError(f"{name!r} is an order: only 0 can be set, which pauses it. Reset it to continue")


def interval(weight: int, *, number: int, per: Micros) -> Micros:
    """The time that this weight takes at a rate of `number` per `per`. Rounded up: the rate is never exceeded."""
    return -(-weight * per // number)


def rate_allows_at(tat: Micros, now: Micros, *, number: int, per: Micros, burst: int, weight: int = 1) -> Micros | None:
    """The first time, `now` or later, at which a rate allows an attempt of this weight. None if the rate is 0.

    GCRA: `tat` is the theoretical arrival time, the earliest time of the next attempt without a burst.
    """
    if number == 0:
        return None
    allowed = max(tat, now) + interval(weight, number=number, per=per) - interval(burst, number=number, per=per)
    return max(now, allowed)


class Lane(msgspec.Struct, gc=False):
    """The state of a lane during a claim, which holds the lock of the lane."""

    id: str
    kind: LaneKind
    number: int
    per: Micros = 0
    burst: int = 1
    tat: Micros = 0
    running: int = 0
    front: str | None = None
    """Of an order: the chain at the front."""
    parked: bool = False
    """Whether tracks are parked here."""
    wake_at: Micros | None = None
    """Set by a claim: when a rate allows the first of the jobs that it refused."""
    wakes: bool = False
    """Whether the stored lane has a time at which it is to be read again."""

    @property
    def full(self) -> bool:
        """Whether a limit allows no more jobs until one of its jobs ends, or its number changes."""
        return self.kind == "limit" and self.running >= self.number

    def free(self, now: Micros) -> int:
        """How many jobs of weight 1 the lane allows now."""
        match self.kind:
            case "limit":
                return max(0, self.number - self.running)
            case "order":
                return 1 if self.number > 0 and self.running == 0 else 0
            case _:
                if self.number == 0:
                    return 0
                left = interval(self.burst, number=self.number, per=self.per) - max(0, self.tat - now)
                return max(0, left // interval(1, number=self.number, per=self.per))

    def allows(self, job: WaitingJob, now: Micros) -> bool:
        """Whether this job may start now, as far as this lane is concerned."""
        match self.kind:
            case "limit":
                return self.running < self.number
            case "order":
                return self.number > 0 and self.running == 0 and self.front in (None, job.chain_id)
            case _:
                if self.number == 0 or not job.counts:
                    return self.number > 0
                weight = job.weights.get(self.id, 1)
                at = rate_allows_at(
                    self.tat, now, number=self.number, per=self.per, burst=self.burst, weight=weight
                )  # fmt: skip
                if at is None or weight == 0 or at <= now:
                    return True
                self.wake_at = at if self.wake_at is None else min(self.wake_at, at)
                return False

    def take(self, job: WaitingJob, now: Micros) -> None:
        """Let this job start."""
        if self.kind != "rate":
            self.running += 1
        elif job.counts and (weight := job.weights.get(self.id, 1)):
            self.tat = max(self.tat, now) + interval(weight, number=self.number, per=self.per)


class LaneFacts(NamedTuple):
    """A lane as an explanation reads it, and some of the running jobs that hold it."""

    lane: Lane
    holders: tuple[str, ...]


class WaitingJob(msgspec.Struct, gc=False):
    """A due job at the front of its track."""

    seq: int
    id: str
    chain_id: str
    counts: bool = True
    """Whether rates count this attempt: its number begins for the first time."""
    weights: Mapping[str, int] = msgspec.field(default_factory=dict[str, int])
    """By lane, the weights that are not 1."""


class Track(msgspec.Struct, gc=False):
    """A track that may have jobs to claim, with its first due jobs in order."""

    id: str
    type: str
    priority: int
    fair: str
    lanes: Sequence[str]
    jobs: list[WaitingJob] = msgspec.field(default_factory=list[WaitingJob])
    parked: str | None = None
    """The lane at which it was parked when the claim read it."""


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


def choose(
    tracks: Sequence[Track],
    lanes: Mapping[str, Lane],
    plain: Iterable[int],
    *,
    limit: int,
    now: Micros,
    lanes_next: bool,
    unread: int | None = None,
) -> Choice:
    """Choose up to `limit` jobs of these tracks, in their order, and of the plain jobs with these priorities.

    Higher priorities come first. At equal priority the choice alternates between plain jobs and tracks, and takes one
    job of each track in turn. The state of the lanes is changed.

    `unread`: the highest priority of further tracks, which were not read. If the tracks here must wait, the choice ends
    before plain jobs of this priority or a lower one: one of the further tracks may be better.
    """
    choice = Choice(lanes_next=lanes_next)
    by_priority: dict[int, deque[Track]] = {}
    for track in tracks:
        by_priority.setdefault(track.priority, deque()).append(track)
    unclaimed: dict[int, int] = {}
    for priority in plain:
        unclaimed[priority] = unclaimed.get(priority, 0) + 1
    for priority in sorted(by_priority.keys() | unclaimed.keys(), reverse=True):
        queue, left = by_priority.get(priority, deque[Track]()), unclaimed.get(priority, 0)
        while (queue or left) and len(choice.taken) + choice.plain < limit:
            if not queue and unread is not None and priority <= unread:
                return choice
            if left and not (queue and choice.lanes_next):
                choice.plain += 1
                left -= 1
                choice.lanes_next = True
                continue
            track = queue.popleft()
            if not track.jobs:
                continue
            job = track.jobs[0]
            for lane in track.lanes:
                if not lanes[lane].allows(job, now):
                    choice.parked[track.id] = lane
                    break
            else:
                for lane in track.lanes:
                    lanes[lane].take(job, now)
                choice.taken.append((track, track.jobs.pop(0)))
                choice.lanes_next = False
                if track.jobs:
                    queue.append(track)
    return choice
