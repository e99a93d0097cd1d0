"""What a run needs of a store, whichever it is."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torture.audit import Change

Harm = Callable[[float], bool]
"""Do some harm for about so many seconds, and undo it. Tells whether the store, or whoever uses it, was met by it."""

RECOVERY = 2.0
"""Seconds after an outage until everyone has connected again; they count as part of it."""
AT_ONCE = 0.5
"""The same where the store was there all the time and only connections were lost."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of harm to a store. An outage: whoever uses the store may be held up until it is over."""

    kind: str
    harm: Harm
    outage: bool = True
    longest: float = 0.0
    """Seconds; 0 for what is over at once."""
    recovery: float = RECOVERY
    """Seconds that an outage goes on for after the harm is undone."""


def settled(measure: Callable[[], dict[str, Any]], patience: float = 5.0) -> dict[str, Any]:
    """Measure until nothing is left, or for so long: what comes and goes is no leak."""
    deadline = time.monotonic() + patience
    while True:
        reported = measure()
        if time.monotonic() > deadline or not any(reported[name] for name in reported if name.startswith("left: ")):
            return reported
        time.sleep(0.1)


class Harness(ABC):
    """A store for one run."""

    url: str
    """For producers and workers, maybe by way of a proxy."""
    direct: str
    """For the run itself."""
    neighbour: str
    """Another store on the same server."""
    transactional = True
    own_clock = True
    replaceable = False
    """Whether the store is a file, which can be replaced."""
    durability = ""
    """A mode in which it may lose what it acknowledged."""
    versions: dict[str, str]

    @abstractmethod
    def audit(self) -> list[Change]:
        """Every change so far."""

    @abstractmethod
    def ledger(self) -> list[tuple[str, int, str]]: ...

    @abstractmethod
    def business(self) -> list[str]: ...

    @abstractmethod
    def faults(self) -> list[Fault]:
        """What can be done to this store."""

    def holder(self) -> int | None:
        """The process that holds a lock which keeps all others from writing: such a one is not to be frozen."""
        return None

    def at_rest(self, pids: Callable[[], list[int]]) -> dict[str, Any]:
        """What processes hold while they live and have nothing to do, and what the server has beyond that.

        Named as in `leaks`. Once they have ended the kernel has closed whatever they forgot.
        """
        return {}

    def leaks(self) -> dict[str, Any]:
        """What is left once every process has ended; of names that begin with "left: " there should be nothing."""
        return {}
