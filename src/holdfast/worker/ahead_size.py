"""How many jobs a worker claims ahead of its free slots."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.worker.durations import Estimate

WINDOW = 0.02
"""Seconds in which all jobs that are claimed ahead should begin."""
STORE_WINDOW = 0.05
"""The same for types whose attempts wait for the store. Claims and the writes of these attempts use the same disk, so
claims should be few."""
ENGINE_SECONDS = 0.00005
"""Assumed cost of an attempt without its handler, until the rate of the queue is measured."""


class Room(NamedTuple):
    """How many jobs a claim should ask for, and of which types."""

    limit: int
    """The number of jobs of any type, for the free slots."""
    ahead: int = 0
    """The number of additional jobs, of the fast types only."""
    fast: frozenset[str] = frozenset()
    finds_new: bool = False
    """Whether the store reports which jobs were never claimed before. Such jobs have no steps to read."""

    @property
    def total(self) -> int:
        return self.limit + self.ahead


NO_ROOM = Room(0)


def ahead_size(most: int, moving: int, longest: Estimate, interval: float | None) -> int:
    """How many jobs will begin within the window, at most this many.

    `moving`: slots that are free, or that a fast attempt occupies. `longest`: the seconds of the longest fast attempt.
    `interval`: the measured seconds between two starts. If it is None, the calculation assumes that one handler runs at
    a time, and that the waits for the store overlap.
    """
    waiting = longest.slot - longest.handler
    window = STORE_WINDOW if waiting else WINDOW
    by_rate = window / (interval or longest.handler + waiting / moving + ENGINE_SECONDS)
    by_slots = window * moving / max(longest.handler, ENGINE_SECONDS)
    return max(0, int(min(by_rate, by_slots, most)))
