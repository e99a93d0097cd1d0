"""The interface of a store for a run: its addresses, audit, ledger and faults."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torture.audit import Change

Injection = Callable[[float], bool]
"""Injects a fault for about this many seconds and removes it. Returns whether the store or its clients noticed it."""

RECOVERY = 2.0
"""Seconds after an outage until all clients have connected again; they count as part of it."""
AT_ONCE = 0.5
"""The same if the store was available and only connections were lost."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault of a store. During an outage, clients may have to wait until it is over."""

    kind: str
    inject: Injection
    outage: bool = True
    longest: float = 0.0
    """Seconds; 0 for a fault without duration."""
    recovery: float = RECOVERY
    """Seconds that count as outage after the fault is removed."""


def settled(measure: Callable[[], dict[str, Any]], timeout: float = 5.0) -> dict[str, Any]:
    """Measure until nothing is left or the time is over: a resource that is closed soon is no leak."""
    deadline = time.monotonic() + timeout
    while True:
        reported = measure()
        if time.monotonic() > deadline or not any(reported[name] for name in reported if name.startswith("left: ")):
            return reported
        time.sleep(0.1)


class Harness(ABC):
    """A store for one run."""

    url: str
    """The address for producers and workers, through the proxy if there is one."""
    direct: str
    """The address for the main process of the run."""
    neighbour: str
    """Another store on the same server."""
    transactional = True
    own_clock = True
    replaceable = False
    """Whether the store is a file, which can be replaced."""
    durability = ""
    """A mode that may lose acknowledged writes."""
    versions: dict[str, str]

    @abstractmethod
    def audit(self) -> list[Change]:
        """Every change so far."""

    @abstractmethod
    def ledger(self) -> list[tuple[str, int, str]]: ...

    def step_ledger(self) -> list[tuple[str, str, str, str]]:
        """The rows of transactional steps. Without transactions there are none."""
        return []

    @abstractmethod
    def business(self) -> list[str]: ...

    @abstractmethod
    def faults(self) -> list[Fault]:
        """The faults that can be injected into this store."""

    def holder(self) -> int | None:
        """The process that holds the write lock: the nemesis must not freeze it."""
        return None

    def at_rest(self, pids: Callable[[], list[int]]) -> dict[str, Any]:
        """The resources of idle processes, and what the server holds beyond them. Names as in `leaks`.

        Measured before the processes exit, because the kernel then closes what they leaked.
        """
        return {}

    def leaks(self) -> dict[str, Any]:
        """The resources that are left after all processes have ended; values named "left: ..." should be 0."""
        return {}
