"""Who takes part in a case: handles on one channel, and listeners that tell what they heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from holdfast.core.ids import new_token
from holdfast.engine.wakeups import ConnectedWakeups, Hints, Wakeups

PATIENCE = 20.0
"""Seconds after which what was not heard counts as never heard."""

Place = Callable[[], Wakeups]
"""Gives a handle on one and the same channel each time: a new one where there can be several."""


class Party:
    """A listener that remembers."""

    def __init__(self, wakeups: Wakeups) -> None:
        self._received = Hints()
        self._more = threading.Condition()
        self.leave = wakeups.subscribe(self._receive)

    def _receive(self, hints: Hints) -> None:
        with self._more:
            self._received.add(hints)
            self._more.notify_all()

    def receives(self, wanted: Hints) -> None:
        """Wait until all of this was heard since the last `forget`, or that there may be anything."""
        with self._more:
            assert self._more.wait_for(lambda: self._covers(wanted), PATIENCE), f"{wanted} was never heard"

    def has_received(self, type: str) -> bool:
        """Whether it was told by name that a job of this type is due."""
        with self._more:
            return type in self._received.due

    def forget(self) -> None:
        """Count only what comes from now on."""
        with self._more:
            self._received = Hints()

    def _covers(self, wanted: Hints) -> bool:
        received = self._received
        named = received.due >= wanted.due and received.finished >= wanted.finished and received.lost >= wanted.lost
        return received.anything or (named and received.recorded >= wanted.recorded and not wanted.anything)


class Parties:
    """The handles of a case, opened at its beginning and closed at its end."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.here = self.another()
        self.there = self.another()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def another(self) -> Wakeups:
        """One more handle, that is known to hear."""
        made = self._place()
        if isinstance(made, ConnectedWakeups):
            self._open.callback(made.close)
            made.open()
        return made

    def listen(self, wakeups: Wakeups) -> Party:
        """A listener that hears what is sent from now on, and has heard nothing yet."""
        party = Party(wakeups)
        deadline = time.monotonic() + PATIENCE
        while not wakeups.healthy:
            assert time.monotonic() < deadline, "it never became healthy"
            time.sleep(0.01)
        # A word of its own shows that it hears; what was told at the beginning is told before it, on the same way.
        first = Hints(due={new_token()})
        wakeups.send(first)
        party.receives(first)
        party.forget()
        return party
