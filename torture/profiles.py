"""Profiles: how long and how hard."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """Leases are short, so that a minute holds many of them."""

    seconds: float
    """Of load, in each round."""
    rounds: int = 1
    """Runs, one after the other, each with a seed and a store of its own: evidence does not grow with the hours."""
    workers: int = 3
    producers: int = 2
    interrupted: int = 1
    """Producers with a blocking client whose calls a signal handler interrupts."""
    rate: float = 5.0
    """Operations a second, of each producer."""
    concurrency: int = 8
    lease: float = 1.5
    reap: float = 0.5
    poll: float = 1.0
    pause: float = 0.8
    """Seconds between two faults, on average."""
    calm: float = 15.0
    """Seconds of peace after each kind of fault had its turn: what is measured then is not the faults."""
    kill: float = 0.0015
    stop: float = 0.0006
    """How likely a call of the store is to be a worker's last, or to freeze it."""
    settle: float = 120.0
    """Seconds for everything to come to rest."""
    largest: int = 2000
    """The most chains that one call starts."""
    widest: int = 100
    """The most blockers of a job."""
    sweep: bool = True
    """Whether every failpoint is to be met at least once."""
    supervised: bool = True
    """Whether a supervisor and its processes take part."""
    timely: bool = True
    """Whether bounds of time are judged. Safety always is."""


PROFILES = {
    # In every `make test`, on three stores at once, whatever else the machine does: it judges what happened, not when.
    "smoke": Profile(
        seconds=60, workers=2, producers=1, rate=10, lease=1.0, pause=0.6, kill=0.002, stop=0.001, settle=150,
        largest=300, widest=20, supervised=False, timely=False, calm=0,
    ),
    "ci": Profile(seconds=600),
    # Eight hours.
    "night": Profile(seconds=600, rounds=48, workers=4, rate=10, largest=5000, calm=60),
}  # fmt: skip
