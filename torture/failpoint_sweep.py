"""The sweep: assigns every failpoint with every action to a process until each was reached once."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

WORKER_VERBS = (
    "claim", "settle", "renew", "guard", "reap", "prune", "next_due", "get_blockers", "get_jobs", "progress", "start",
    "begin", "commit", "rollback", "get_steps", "save_steps", "get_messages",
)  # fmt: skip
PRODUCER_VERBS = (
    "start", "get_chains", "lock", "complete", "cancel", "retry", "run_now", "delete", "pause", "resume", "get_stats",
    "list_jobs", "begin", "join", "commit", "rollback", "send",
)  # fmt: skip
AT_ONCE = {"fail": 4, "stop": 2, "kill": 3}
"""How many points of each action a process gets at once. Without remaining `kill` points, it gets all that are left."""
PRODUCER_AT_ONCE = {"fail": 8, "stop": 4, "kill": 8}
"""More for a producer: a frozen producer blocks no other process, and half of its verbs are rare."""


def worker_points() -> list[str]:
    """The failpoints of a worker: it is killed, stopped, or gets StoreUnavailable."""
    return _points(("kill", "stop", "fail"), WORKER_VERBS)


def producer_points() -> list[str]:
    """The failpoints of a producer."""
    return _points(("kill", "stop", "fail"), PRODUCER_VERBS)


def _points(actions: Iterable[str], verbs: Iterable[str]) -> list[str]:
    points = [f"{action} {when} {verb}" for action in actions for verb in verbs for when in ("before", "after")]
    # A rollback reports no errors, so a failure there has no effect.
    return [point for point in points if point not in ("fail before rollback", "fail after rollback")]


class Sweep:
    """The points that no process has reached yet."""

    def __init__(self, points: Iterable[str], rng: random.Random) -> None:
        self._left = list(points)
        self._random = rng
        self._given: dict[str, Path] = {}

    @property
    def left(self) -> list[str]:
        """The remaining points."""
        self._tick_off()
        return list(self._left)

    def leave_out(self, verb: str) -> None:
        """Remove the points of a verb that the store does not have."""
        self._left = [point for point in self._left if point.split()[-1] != verb]

    def aims(self, name: str, met: Path) -> tuple[str, ...]:
        """Assign some points to a process, which writes the reached ones to the file `met`."""
        self._tick_off()
        self._given[name] = met
        if not any(point.startswith("kill") for point in self._left):
            return tuple(self._left)
        drawn: list[str] = []
        for action, number in (PRODUCER_AT_ONCE if name.startswith("producer") else AT_ONCE).items():
            fitting = [point for point in self._left if point.startswith(action)]
            drawn += self._random.sample(fitting, min(number, len(fitting)))
        return tuple(drawn)

    def _tick_off(self) -> None:
        met = {line for file in self._given.values() if file.exists() for line in file.read_text().splitlines()}
        self._left = [point for point in self._left if point not in met]
