"""The contract of a contender: Holdfast, a peer, a limit or a worker by hand, all measured by the same loops.

A module of a contender must be importable where its library is not installed: the library is imported when a contender
is made. Methods may be plain or async. Every handler calls `tick` (or `lap`) first and returns a value where the
library keeps values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

SCHEDULES = 20
"""How many schedules a contender has that takes part in their scenario. Each fires every second."""


class Unsupported(Exception):
    """A contender has no such feature; the reason goes into the report."""


@dataclass(frozen=True, slots=True)
class Place:
    """Fresh storage for one run."""

    store: str
    url: str


@dataclass(frozen=True, slots=True)
class About:
    """What a contender promises, and what is stored of a job afterwards."""

    guarantee: str
    retention: str
    best: str
    """The settings of the rows called best."""


class Contender:
    """One queue on one store."""

    name: ClassVar[str]
    about: ClassVar[dict[str, About]]
    """The store that it runs on."""
    requirements: ClassVar[Sequence[str]] = ()
    """What pip installs into its own environment; nothing for those that run in ours."""
    module: ClassVar[str] = ""
    """The module whose import is timed."""
    distributions: ClassVar[Sequence[str]] = ()
    """The packages whose versions are reported."""
    drains: ClassVar[tuple[int, int]] = (1000, 1000)
    """How many jobs fill a few seconds at concurrency 10, and with the best settings."""
    starts: ClassVar[tuple[int, int]] = (300, 5000)
    """How many starts one at a time, and how many in bulk."""
    only: ClassVar[frozenset[str] | None] = None
    """The scenarios it takes part in; None is all that fit."""
    keyed: ClassVar[int] = 0
    """How many jobs with a lock per key fill a few seconds; 0 if there are no such locks."""
    capped: ClassVar[int] = 0
    """How many jobs of a type with a limit of two in the fleet fill a few seconds; 0 if there is no such limit."""
    blocking: ClassVar[bool] = False
    """Whether `start` blocks: compared with SyncClient."""

    has_steps: ClassVar[bool] = False
    """Whether it has durable steps, and takes part in their scenarios."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def setup(self) -> Any:
        """Create the tables. Called once per fresh storage, in a separate process."""

    def open(self) -> Any:
        """Connect, to start jobs."""

    def close(self) -> Any:
        """Close the connections."""

    def start(self, number: int) -> Any:
        """Start the job that adds 1 to a number."""
        raise NotImplementedError

    def start_many(self, numbers: Sequence[int]) -> Any:
        """Start many, in the way that the library documents."""
        raise NotImplementedError

    def load(self, kind: str, numbers: Sequence[int]) -> Any:
        """Start many of a kind. Peers have only `plain`. Returns how many handlers will run."""
        if kind != "plain":
            raise Unsupported(f"no {kind} jobs")
        return self.start_many(numbers)

    def touch(self, sent: int) -> Any:
        """Start the job whose handler calls `lap(sent)`."""
        raise NotImplementedError

    def call(self, number: int) -> Any:
        """Start the adding job, and wait for its result as the library documents it."""
        raise NotImplementedError

    def sequence(self, count: int) -> Any:
        """Start a job with this many steps in a row, and wait for the medians that it measures: seconds of a step, and
        of a bare commit by the driver of the store, if it makes some between its steps.
        """
        raise NotImplementedError

    def left(self) -> Any:
        """How many jobs are not yet settled in the store."""
        raise NotImplementedError

    def work(self, slots: int | None) -> Any:
        """Run jobs until killed: this many at a time, or with the best settings."""
        raise NotImplementedError


def fan_of(kind: str) -> int:
    """How many jobs each waiting job of a kind such as `fan-in-100` waits for."""
    return int(kind.removeprefix("fan-in-"))
