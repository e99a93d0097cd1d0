"""The simulated wake-up bus: each process merges its hints as the real senders do, and all others receive them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.engine.hint_buffer import HintBuffer, SendPause
from holdfast.engine.wakeups import ANYTHING, Hints, Listener, LocalWakeups

DELAY = 0.0005
"""Seconds from the sender to the listeners."""


class Bus:
    def __init__(self) -> None:
        self.processes: list[ProcessWakeups] = []
        self.messages = 0
        """Messages that processes sent."""
        self.deliveries = 0
        """Messages that processes received from others."""

    def publish(self, sender: ProcessWakeups, hints: Hints) -> None:
        self.messages += 1
        asyncio.get_running_loop().call_later(DELAY, self._deliver, sender, hints)

    def _deliver(self, sender: ProcessWakeups, hints: Hints) -> None:
        receivers = [process for process in self.processes if process is not sender and process.listens]
        self.deliveries += len(receivers)
        # Workers ignore hints that only name finished chains. Without the calls the simulation takes half of the time.
        if hints.due or hints.lost or hints.anything or hints.workers or hints.recorded:
            for process in receivers:
                process.local.send(hints)


class ProcessWakeups:
    """The wake-ups of one process."""

    healthy = True

    def __init__(self, bus: Bus) -> None:
        self.local = LocalWakeups()
        self.listens = False
        self._bus = bus
        self._waiting = HintBuffer()
        self._pause = SendPause()
        bus.processes.append(self)

    def send(self, hints: Hints) -> None:
        self.local.send(hints)
        if self._waiting.add(hints):
            asyncio.get_running_loop().call_later(self._pause.wait(), self._publish)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        unsubscribe = self.local.subscribe(listener)
        self.listens = True
        asyncio.get_running_loop().call_soon(listener, ANYTHING)
        return unsubscribe

    def _publish(self) -> None:
        self._bus.publish(self, self._waiting.take())
        self._pause.sent()
