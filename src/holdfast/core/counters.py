"""Counters: what happened to jobs per type and minute, and how long they waited and ran. Pure: no clock, no I/O.

A store appends one `CounterChange` per type, kind and transaction, in the transaction whose changes it counts. So no
transaction waits for a counter of another. `add_up` combines changes into `Counts`; a store does that in batches, and
when it is asked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, Literal, NamedTuple

import msgspec

from holdfast.core.clock import SECOND, Micros

Kind = Literal["started", "completed", "failed", "retried", "reaped", "rescheduled", "cancelled"]

KINDS: Final[tuple[Kind, ...]] = ("started", "completed", "failed", "retried", "reaped", "rescheduled", "cancelled")

MINUTE: Final[Micros] = 60 * SECOND
KEPT_MINUTES: Final = 24 * 60
"""How many minutes are kept one by one. Older ones remain only in the totals."""
TOTAL: Final = 0
"""In the place of a minute: everything since the store was created."""

BOUNDS: Final[tuple[Micros, ...]] = tuple(
    round(bound * SECOND)
    for bound in (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)
)
"""The upper bounds of the buckets. The last bucket has no bound. PostgreSQL (`holdfast.bucket`) and Redis
(`shared/counters.lua`) repeat them."""
BUCKETS: Final = len(BOUNDS) + 1
LETTERS: Final = "abcdefghijklmnopq"
"""Each bucket has a letter, so the durations of several attempts are stored as one short text."""


class Histogram(msgspec.Struct, frozen=True):
    """Durations, counted in fixed buckets."""

    counts: tuple[int, ...] = (0,) * BUCKETS
    """One number per bucket. A bucket contains durations up to and including its bound in `BOUNDS`."""
    total: Micros = 0
    """The sum of all durations."""

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """The average in seconds; None without durations."""
        return self.total / SECOND / self.count if self.count else None

    def percentile(self, percent: float) -> float | None:
        """About how many seconds `percent` of the durations did not exceed; None without durations.

        Durations are assumed to be evenly distributed within a bucket. Above the last bound, the result is this bound.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"a percentile lies between 0 and 100, not {percent}")
        wanted, below = self.count * percent / 100, 0
        for bucket, number in enumerate(self.counts):
            if number and below + number >= wanted:
                if bucket == len(BOUNDS):
                    break
                low = BOUNDS[bucket - 1] if bucket else 0
                return (low + (BOUNDS[bucket] - low) * max(0.0, wanted - below) / number) / SECOND
            below += number
        return BOUNDS[-1] / SECOND if self.count else None


class Counts(msgspec.Struct, frozen=True):
    """What happened to the jobs of a type in some time.

    `retried`: attempts that failed and are followed by another one. `failed`: jobs that failed permanently. `reaped`:
    attempts whose lease was lost; if it was the last one, the job is `failed` too. The histograms contain the attempts
    that a worker settled, without released and mismatched ones: `waits` from due to claimed, `runs` from claimed to
    settled.
    """

    started: int = 0
    completed: int = 0
    failed: int = 0
    retried: int = 0
    reaped: int = 0
    rescheduled: int = 0
    cancelled: int = 0
    waits: Histogram = Histogram()
    runs: Histogram = Histogram()

    @classmethod
    def of(cls, numbers: Sequence[int], waits: Histogram, runs: Histogram) -> Counts:
        """From one number per kind, in the order of `KINDS`."""
        started, completed, failed, retried, reaped, rescheduled, cancelled = numbers
        return cls(started, completed, failed, retried, reaped, rescheduled, cancelled, waits, runs)


class CounterChange(NamedTuple):
    """One appended row: what a transaction did to the jobs of one type."""

    type: str
    minute: int
    kind: str
    number: int
    waits: str | None = None
    runs: str | None = None
    """One letter per attempt."""
    wait_total: Micros = 0
    run_total: Micros = 0
    fingerprint: str | None = None
    """The error group of these failures. The next fields: its summary, the id of one of the jobs, and the time."""
    summary: str | None = None
    example: str | None = None
    at: Micros = 0


class Sums:
    """The sums of one type and minute while changes are added."""

    __slots__ = ("numbers", "run_total", "runs", "wait_total", "waits")

    def __init__(self, counts: Counts | None = None) -> None:
        self.numbers: dict[str, int] = {kind: 0 if counts is None else getattr(counts, kind) for kind in KINDS}
        self.waits = [0] * BUCKETS if counts is None else list(counts.waits.counts)
        self.runs = [0] * BUCKETS if counts is None else list(counts.runs.counts)
        self.wait_total = 0 if counts is None else counts.waits.total
        self.run_total = 0 if counts is None else counts.runs.total

    def add(self, change: CounterChange) -> None:
        self.numbers[change.kind] += change.number
        waits, runs = change.waits or "", change.runs or ""
        for letter in set(waits):
            self.waits[ord(letter) - 97] += waits.count(letter)
        for letter in set(runs):
            self.runs[ord(letter) - 97] += runs.count(letter)
        self.wait_total += change.wait_total
        self.run_total += change.run_total

    def counts(self) -> Counts:
        numbers = [self.numbers[kind] for kind in KINDS]
        waits, runs = Histogram(tuple(self.waits), self.wait_total), Histogram(tuple(self.runs), self.run_total)
        return Counts.of(numbers, waits, runs)


Place = tuple[str, int]
"""A type and a minute, or `TOTAL`."""


class CounterReading(NamedTuple):
    """The counters of a store at one moment."""

    now: Micros
    minutes: dict[Place, Counts]
    totals: dict[str, Counts]


def add_up(changes: Iterable[CounterChange], before: Mapping[Place, Counts]) -> dict[Place, Counts]:
    """The counts that differ after these changes: of their minutes, and the totals of their types."""
    sums: dict[Place, Sums] = {}
    for change in changes:
        for place in ((change.type, change.minute), (change.type, TOTAL)):
            found = sums.get(place)
            if found is None:
                found = sums[place] = Sums(before.get(place))
            found.add(change)
    return {place: each.counts() for place, each in sums.items()}


def combined(parts: Iterable[Counts]) -> Counts:
    """The sum of counts. It adds column by column, to be fast: a day has thousands of minutes, which pages add up."""
    parts = list(parts)
    if not parts:
        return Counts()
    numbers = [sum(map(attrgetter(kind), parts)) for kind in KINDS]
    return Counts.of(numbers, _merged([each.waits for each in parts]), _merged([each.runs for each in parts]))


def _merged(histograms: Sequence[Histogram]) -> Histogram:
    columns = zip(*(each.counts for each in histograms), strict=True)
    return Histogram(tuple(map(sum, columns)), sum(each.total for each in histograms))


def reading(now: Micros, counts: Mapping[Place, Counts], first: int) -> CounterReading:
    """The minutes from `first` on, and the totals."""
    minutes = {place: each for place, each in counts.items() if place[1] >= first and place[1] != TOTAL}
    return CounterReading(now, minutes, {type: each for (type, minute), each in counts.items() if minute == TOTAL})


def minute_of(moment: Micros) -> int:
    return moment // MINUTE


def first_minute(now: Micros, *, since: Micros | None, last: Micros | None) -> int:
    """The first minute of a reading: that of `since`, or the last minutes up to now; never more than are kept."""
    first = minute_of(now) - KEPT_MINUTES + 1
    if since is not None:
        first = max(first, minute_of(since))
    if last is not None:
        first = max(first, minute_of(now - last) + 1)
    return first


def letter(duration: Micros) -> str:
    """The bucket of a duration."""
    return LETTERS[bisect_left(BOUNDS, duration)]


class Appending:
    """Collects the changes of one operation: one per type and kind, and one per fingerprint for failures."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: dict[tuple[str, str, str | None], list[CounterChange]] = {}

    def __bool__(self) -> bool:
        return bool(self._changes)

    def add(self, change: CounterChange) -> None:
        self._changes.setdefault((change.type, change.kind, change.fingerprint), []).append(change)

    def take(self) -> Iterator[CounterChange]:
        """The collected changes, added up per key."""
        collected, self._changes = self._changes, {}
        for same in collected.values():
            if len(same) == 1:
                yield same[0]
                continue
            _, _, _, numbers, waits, runs, wait_totals, run_totals, *_ = zip(*same, strict=True)
            yield same[-1]._replace(
                number=sum(numbers),
                waits="".join(filter(None, waits)) or None,
                runs="".join(filter(None, runs)) or None,
                wait_total=sum(wait_totals),
                run_total=sum(run_totals),
            )


def settled_kind(status: str, outcome: str) -> Kind | None:
    """What the settlement of an attempt counts as. None: a released or mismatched attempt, which does not count."""
    match status:
        case "completed" | "failed" | "cancelled":
            return status
        case "pending" if outcome == "failed":
            return "retried"
        case "pending" if outcome == "rescheduled":
            return "rescheduled"
        case _:
            return None


def settled_together(type: str, kind: Kind, now: Micros, times: list[tuple[Micros, Micros]]) -> CounterChange:
    """Several attempts of a type that were settled at once. `times`: when each was due, and when it began."""
    # Without a call per attempt: this is part of every settlement.
    waits = [begun - due if begun > due else 0 for due, begun in times]
    runs = [now - begun if now > begun else 0 for _, begun in times]
    return CounterChange(type, now // MINUTE, kind, len(times), _letters(waits), _letters(runs), sum(waits), sum(runs))


def _letters(durations: list[Micros]) -> str:
    """The letters of the buckets of these durations. The durations of a batch are often in one bucket."""
    first, last = bisect_left(BOUNDS, min(durations)), bisect_left(BOUNDS, max(durations))
    if first == last:
        return LETTERS[first] * len(durations)
    return "".join([LETTERS[bisect_left(BOUNDS, each)] for each in durations])


def ended(
    type: str, kind: Kind, now: Micros, *, scheduled_at: Micros, started_at: Micros | None, timed: bool = True
) -> CounterChange:
    """One attempt that a worker settled. `timed`: its durations count."""
    if not timed or started_at is None:
        return CounterChange(type, now // MINUTE, kind, 1, at=now)
    wait, run = max(0, started_at - scheduled_at), max(0, now - started_at)
    return CounterChange(type, now // MINUTE, kind, 1, letter(wait), letter(run), wait, run, at=now)
