"""The simulated wake-up bus: each process merges its hints as the real senders do, and all others receive them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from holdfast.engine.hint_buffer import HintBuffer, SendPause
from holdfast.engine.wakeups import ANYTHING, Hints, Listener, LocalWakeups
from holdfast.worker.claim_loop import ClaimLoop

DELAY = 0.0005
"""Seconds from the sender to the listeners."""


class Bus:
    def __init__(self) -> None:
        self.processes: list[ProcessWakeups] = []
        self.messages = 0
        """Messages that processes sent."""
        self.deliveries = 0
        """Messages that processes received from others."""

        self.listening = 0
        """Processes that listen."""

    def publish(self, sender: ProcessWakeups, hints: Hints) -> None:
        self.messages += 1
        asyncio.get_running_loop().call_later(DELAY, self._deliver, sender, hints)

    def _deliver(self, sender: ProcessWakeups, hints: Hints) -> None:
        """Deliver a message to all other processes. Those that would ignore it are only counted."""
        self.deliveries += self.listening - sender.listens
        if hints.lost or hints.anything or hints.workers or hints.recorded:
            for process in self.processes:
                if process is not sender:
                    process.local.send(hints)
        elif hints.due:
            # Only claim loops react to due jobs, and most of them wait for their turn to check already.
            second = int(asyncio.get_running_loop().time())
            for process in self.processes:
                if process is not sender and process.claim_loop is not None and process.reacts(second):
                    process.claim_loop.receive(hints)


class ProcessWakeups:
    """The wake-ups of one process."""

    healthy = True

    def __init__(self, bus: Bus) -> None:
        self.local = LocalWakeups()
        self.listens = False
        self.claim_loop: Any = None
        """The claim loop of the worker, if the process has one."""
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
        self._bus.listening += not self.listens
        self.listens = True
        owner = getattr(listener, "__self__", None)
        if isinstance(owner, ClaimLoop):
            self.claim_loop = owner
        asyncio.get_running_loop().call_soon(listener, ANYTHING)
        return unsubscribe

    def reacts(self, second: int) -> bool:
        """Whether the claim loop does anything if jobs become due: not while its next check is already planned.

        The first worker of a second claims at once, so the place of the worker must be known for this second.
        """
        loop = self.claim_loop
        stagger = loop._stagger
        return loop._timer is None or stagger._second != second or 0.0 in stagger._delays.values()

    def _publish(self) -> None:
        self._bus.publish(self, self._waiting.take())
        self._pause.sent()
