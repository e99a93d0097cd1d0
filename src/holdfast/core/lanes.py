"""Lanes of limits, rates and orders: what is stored with a job, and which jobs a lane allows. Pure: no clock, no I/O.

Jobs of one type and priority that have the same lanes form a *track*. If the first job of a track must wait for a lane,
all jobs of the track must. So a claim reads tracks, not the jobs that wait. A track that must wait is *parked* at the
lane that it waits for, and is read again when that lane has changed.

A job that waits for its weight in a rate *reserves* the lane: other jobs of the lane with the same or a lower priority
must wait. Otherwise a stream of light jobs would starve it. The reservation ends when the job begins, but not later
than one interval after the time at which the rate allows the job: it may have been cancelled, or no worker may claim
its type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
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
    """The lanes of a job of this type and priority. The same lanes give the same track in every process.

    Rates come last: a job that waits for another lane reserves no rate. Jobs that a rate does not count have tracks of
    their own, because they do not wait for it.
    """
    rules = tuple(sorted(rules, key=lambda rule: rule.kind == "rate"))
    parts = (type, priority, fair, *(part for rule in rules for part in (rule.kind, rule.lane, rule.weight > 0)))
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
    reserved_by: str | None = None
    """Of a rate: the track of the job that reserves it. Jobs of other tracks with this priority or a lower one wait."""
    reserved_priority: int = 0
    reserved_at: Micros = 0
    """When the rate allows that job."""

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

    def has_room_after(self, job: WaitingJob, now: Micros) -> bool:
        """Whether the lane may allow the next job of a track after this job. A rate that did not count this job may."""
        uncounted = self.kind == "rate" and (not job.counts or job.weights.get(self.id) == 0)
        return uncounted or self.free(now) > 0

    def allows(self, track: Track, job: WaitingJob, now: Micros) -> bool:
        """Whether this job of the track may start now, as far as this lane is concerned.

        A job that a rate does not allow yet may reserve the rate.
        """
        match self.kind:
            case "limit":
                return self.running < self.number
            case "order":
                return self.number > 0 and self.running == 0 and self.front in (None, job.chain_id)
            case _:
                weight = job.weights.get(self.id, 1) if job.counts else 0
                if self.number == 0 or weight == 0:
                    return self.number > 0
                at = self._allows_at(track, weight, now)
                if at > now:
                    self.wake_at = at if self.wake_at is None else min(self.wake_at, at)
                return at <= now

    def _allows_at(self, track: Track, weight: int, now: Micros) -> Micros:
        """The first time at which a rate may allow this weight. A job that waits for more than 1 reserves the rate."""
        if self.reserved_by not in (None, track.id) and track.priority <= self.reserved_priority:
            end = self.reserved_at + interval(1, number=self.number, per=self.per)
            if now < end:
                return self.reserved_at if now < self.reserved_at else end
        at = rate_allows_at(self.tat, now, number=self.number, per=self.per, burst=self.burst, weight=weight)
        assert at is not None
        # A weight above the burst can never begin: the burst was lowered after the start.
        if at > now and 1 < weight <= self.burst:
            self.reserved_by, self.reserved_priority, self.reserved_at = track.id, track.priority, at
        return at

    def reserving(self, now: Micros) -> str | None:
        """The track of the job that reserves the rate, if the rate allows this job now."""
        return self.reserved_by if self.number > 0 and now >= self.reserved_at else None

    def take(self, track: Track, job: WaitingJob, now: Micros) -> None:
        """Let this job of the track start."""
        if self.kind != "rate":
            self.running += 1
        elif job.counts and (weight := job.weights.get(self.id, 1)):
            self.tat = max(self.tat, now) + interval(weight, number=self.number, per=self.per)
            if self.reserved_by == track.id:
                self.reserved_by = None


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
    """Whether rates count this attempt. False if they have already counted its number, for example before a sleep."""
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
    more: bool = False
    """Whether it has further due jobs, which the claim did not read."""
