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
        self.reacting: dict[ProcessWakeups, None] = {}
        """Processes with a claim loop that reacts to due jobs, in the order in which they began to."""
        self._second = 0

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
            self._deliver_due(sender, hints)

    def _deliver_due(self, sender: ProcessWakeups, hints: Hints) -> None:
        """Only claim loops react to due jobs, and only while they have not planned their next check.

        The order of the workers changes every second, so all of them receive the first message of a second.
        """
        second = int(asyncio.get_running_loop().time())
        if second != self._second:
            self._second = second
            self.reacting = {process: None for process in self.processes if process.claim_loop is not None}
        for process in list(self.reacting):
            if process is not sender:
                process.claim_loop.receive(hints)
                if not process.first:
                    del self.reacting[process]


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
            self._follow(owner)
        asyncio.get_running_loop().call_soon(listener, ANYTHING)
        return unsubscribe

    @property
    def first(self) -> bool:
        """Whether the worker claims at once in this second, and so reacts to every message."""
        return 0.0 in self.claim_loop._stagger._delays.values() or not self.claim_loop._stagger._workers

    def _follow(self, claim_loop: Any) -> None:
        """Deliver messages again after the claim loop has checked for due jobs."""
        check = claim_loop._check

        def checked() -> None:
            check()
            self._bus.reacting[self] = None

        claim_loop._check = checked
        self.claim_loop = claim_loop

    def _publish(self) -> None:
        self._bus.publish(self, self._waiting.take())
        self._pause.sent()
