"""Profiles: duration, load and faults of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """The parameters of a run. Leases are short, so that a minute contains many of them."""

    seconds: float
    """Seconds of load in each round."""
    rounds: int = 1
    """Number of runs, one after the other, each with its own seed and store: the evidence of a run stays small."""
    workers: int = 3
    producers: int = 2
    interrupted: int = 1
    """Producers with a blocking client whose calls a signal handler interrupts."""
    rate: float = 5.0
    """Operations per second of each producer."""
    concurrency: int = 8
    lease: float = 1.5
    reap: float = 0.5
    poll: float = 1.0
    pause: float = 0.8
    """Seconds between two faults, on average."""
    calm: float = 15.0
    """Seconds without faults after each kind of fault was injected once, to measure undisturbed times."""
    kill: float = 0.0015
    stop: float = 0.0006
    """The probability that a call of the store kills or freezes its worker."""
    settle: float = 120.0
    """Time limit in seconds for finishing all due jobs after the load."""
    largest: int = 2000
    """The most chains that one call starts."""
    widest: int = 100
    """The most blockers of a job."""
    sweep: bool = True
    """Whether every failpoint must be reached at least once."""
    supervised: bool = True
    """Whether the run has a supervisor with processes."""
    timely: bool = True
    """Whether exceeded time limits are violations. Safety is always checked."""


PROFILES = {
    # Part of `make test`, on three stores at once on a busy machine: it checks what happened, not how long it took.
    "smoke": Profile(
        seconds=60, workers=2, producers=1, rate=10, lease=1.0, pause=0.6, kill=0.002, stop=0.001, settle=150,
        largest=300, widest=20, supervised=False, timely=False, calm=0,
    ),
    "ci": Profile(seconds=600),
    # Two hours.
    "evening": Profile(seconds=600, rounds=12),
    # Eight hours.
    "night": Profile(seconds=600, rounds=48, workers=4, rate=10, largest=5000, calm=60),
}  # fmt: skip
