"""What a process of a run is told: one JSON text on its command line.

Imports nothing of the library: a mutant is put in place before that.
"""

from __future__ import annotations

import msgspec


class Failpoints(msgspec.Struct, frozen=True):
    """How often a process ends or stops itself, before and after each call of the store."""

    kill: float = 0.0
    stop: float = 0.0
    seed: int = 0
    aims: tuple[str, ...] = ()
    """Points of the sweep, as `kill before claim`: there it is sure to happen, once."""


class Settings(msgspec.Struct, kw_only=True):
    """The same for producers and workers; each reads what concerns it."""

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
    """Shares of wake-ups that are lost, or come three times."""
    failpoints: Failpoints = Failpoints()
    sweep: bool = False
    """Whether every failpoint is to be met once."""
    lease: float = 1.0
    reap: float = 0.5
    poll: float = 1.0
    concurrency: int = 8
    rate: float = 20.0
    """Operations a second that a producer begins."""
    seconds: float = 10.0
    largest: int = 20
    """The most chains that one call starts."""
    widest: int = 5
    """The most blockers of a job."""
    supervised: bool = False
    """Whether processes of a supervisor take part."""
    threads: bool = True
    """Whether some handlers run in threads."""
    harsh: bool = True
    """Whether handlers may block the loop, hog the interpreter, and kill or stop their worker."""


def read(text: str) -> Settings:
    return msgspec.json.decode(text, type=Settings)
