"""Profiles: how long and how hard."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """Leases are short, so that a minute holds many of them."""

    seconds: float
    workers: int = 3
    producers: int = 2
    rate: float = 5.0
    """Operations a second, of each producer."""
    concurrency: int = 8
    lease: float = 1.5
    reap: float = 0.5
    poll: float = 1.0
    pause: float = 0.8
    """Seconds between two faults, on average."""
    kill: float = 0.0015
    stop: float = 0.0006
    """How likely a call of the store is to be a worker's last, or to freeze it."""
    settle: float = 60.0
    """Seconds for everything to come to rest."""
    pick: int | None = None
    """How many kinds of store faults a run draws; None for all of them."""


PROFILES = {
    "smoke": Profile(
        seconds=8, workers=2, producers=1, rate=25, lease=1.0, pause=0.5, kill=0.002, stop=0.001, settle=20
    ),
    "ci": Profile(seconds=600),
    "night": Profile(seconds=8 * 3600, workers=4, producers=2, rate=20),
}
