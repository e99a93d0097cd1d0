"""Wake-ups as a third party may write them: a bus within the process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from uuid import uuid4

from holdfast import Hints
from holdfast.engine.wakeups import ANYTHING, Listener, LocalWakeups

_buses: defaultdict[str, list[BusWakeups]] = defaultdict(list)


def new_bus() -> str:
    """A name that no other test uses."""
    return uuid4().hex[:12]


class BusWakeups:
    """`bus://NAME`: all objects with the same name receive each other's hints."""

    def __init__(self, address: str) -> None:
        self.name = address
        self.sent: list[Hints] = []
        self._bus = _buses[address]
        self._here = LocalWakeups()

    @property
    def healthy(self) -> bool:
        return self in self._bus

    @property
    def problem(self) -> str | None:
        return None

    def send(self, hints: Hints) -> None:
        self.sent.append(hints)
        for other in {self, *self._bus}:
            other._here.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._here.subscribe(listener)

    def open(self, timeout: float = 2.0) -> None:
        if self not in self._bus:
            self._bus.append(self)
            self._here.send(ANYTHING)

    def close(self) -> None:
        if self in self._bus:
            self._bus.remove(self)
