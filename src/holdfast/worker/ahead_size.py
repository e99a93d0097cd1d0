"""How many jobs a worker claims ahead of its free slots."""

from __future__ import annotations

from typing import NamedTuple

WINDOW = 0.02
"""Seconds in which all jobs that are claimed ahead should begin."""
MOST = 500
"""With jobs claimed ahead, a worker holds at most this many jobs, the running ones included."""
ENGINE_SECONDS = 0.00005
"""Assumed cost of an attempt without its handler, until the rate of the queue is measured."""


class Room(NamedTuple):
    """What a claim should ask for."""

    limit: int
    """Jobs of any type, for free slots."""
    ahead: int = 0
    """More jobs, of the fast types."""
    fast: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        return self.limit + self.ahead


def ahead_size(concurrency: int, moving: int, longest: float, interval: float | None) -> int:
    """How many jobs will begin within the window.

    `moving`: slots that are free, or that a fast attempt occupies. `longest`: the seconds of a fast attempt.
    `interval`: the measured seconds between two begins. Without it, one attempt at a time is assumed.
    """
    by_rate = WINDOW / (interval or longest + ENGINE_SECONDS)
    by_slots = WINDOW * moving / max(longest, ENGINE_SECONDS)
    return max(0, int(min(by_rate, by_slots, MOST - concurrency)))
