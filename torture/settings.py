"""The settings of a process of a run, as one JSON text.

This module does not import the library: a mutant is applied before the library is imported.
"""

from __future__ import annotations

import msgspec

IN_PLACE = 0.15
"""Seconds up to which a sleep or a receive waits in place: a short run has many suspensions."""


class Failpoints(msgspec.Struct, frozen=True):
    """The probabilities that a process kills or stops itself before and after each call of the store."""

    kill: float = 0.0
    stop: float = 0.0
    seed: int = 0
    aims: tuple[str, ...] = ()
    """Points of the sweep, such as `kill before claim`: each happens once, at the first pass."""
    often: dict[str, float] = {}
    """Probabilities of single points, such as `stop before save_steps`, beside the random ones."""


class Settings(msgspec.Struct, kw_only=True):
    """Settings of producers and workers."""

    name: str
    folder: str
    url: str
    seed: int
    mutant: str | None = None
    transactional: bool = True
    skew: float = 0.0
    """Seconds that this process's clock is ahead, or behind if negative."""
    drop: float = 0.0
    double: float = 0.0
    """Shares of wake-ups that are lost, or arrive three times."""
    failpoints: Failpoints = Failpoints()
    sweep: bool = False
    """Whether every failpoint must be reached once."""
    lease: float = 1.0
    reap: float = 0.5
    poll: float = 1.0
    concurrency: int = 8
    rate: float = 20.0
    """Operations per second that a producer begins."""
    seconds: float = 10.0
    largest: int = 20
    """The most chains that one call starts."""
    widest: int = 5
    """The most blockers of a job."""
    supervised: bool = False
    """Whether the run has a supervisor with processes."""
    threads: bool = True
    """Whether some handlers run in threads."""
    harsh: bool = True
    """Whether handlers may block the event loop, hold the GIL, and kill or stop their worker."""


def read(text: str) -> Settings:
    return msgspec.json.decode(text, type=Settings)
