"""Counters and errors as callers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.core.counters import Counts, combined


@dataclass(frozen=True, slots=True)
class MinuteCounts:
    """What happened to the jobs of a type in the minute that begins at `at`."""

    at: datetime
    counts: Counts


@dataclass(frozen=True, slots=True)
class TypeCounters:
    """What happened to the jobs of a type."""

    type: str
    counts: Counts
    """In the time that was asked for."""
    minutes: Sequence[MinuteCounts]
    """The same per minute, oldest first. Minutes in which nothing happened are left out."""
    total: Counts
    """Since the store was created. These numbers never decrease."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What happened to jobs from `since`, the beginning of a minute, until `until`, the time of the reading."""

    since: datetime
    until: datetime
    types: Mapping[str, TypeCounters]

    @property
    def counts(self) -> Counts:
        """Of all types together."""
        return combined(each.counts for each in self.types.values())

    @property
    def total(self) -> Counts:
        """Of all types together, since the store was created."""
        return combined(each.total for each in self.types.values())


@dataclass(frozen=True, slots=True)
class FrequentError:
    """Failures with the same type, exception class, normalised message and innermost frame of the application.

    A failure is a job that failed permanently (`failed`), or an attempt that failed or lost its lease and was followed
    by another one (`retried`). `example` is the id of the job that failed last. An empty `fingerprint` means all
    failures beyond the first thousand groups.
    """

    fingerprint: str
    type: str
    exception: str
    message: str
    frame: str
    failed: int
    retried: int
    first: datetime
    last: datetime
    example: str
    minutes: Sequence[tuple[datetime, int]] = ()
    """The minutes since the given time in which there were failures, oldest first, and how many."""

    @property
    def count(self) -> int:
        return self.failed + self.retried
