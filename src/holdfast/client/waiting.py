"""Wait for a chain: subscribe, then look, then sleep, and look again at every ring."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from time import monotonic
from typing import Any

from holdfast.core.job import Chain, Decoder
from holdfast.core.record import ChainRecord, Status
from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import GetChains, Operation
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Alarm, Hints, Wakeups
from holdfast.errors import ChainCancelled, ChainFailed, ChainNotFound, WaitTimeout

POLL = 5.0
"""Seconds between two looks while wake-ups arrive; every half second while they do not."""


@dataclass(frozen=True, slots=True)
class Nap:
    """Sleep until the alarm rings, at most this long."""

    seconds: float


Waiting = Generator[Operation[Any] | Nap, Any, Any]


class Watcher:
    """A subscription for one chain's end, with the alarm that it rings."""

    def __init__(self, wakeups: Wakeups, chain_id: str) -> None:
        self.alarm = Alarm()
        self._wakeups = wakeups
        self._chain_id = chain_id
        self._named = False
        """Whether a hint has named the chain since the last look."""
        self._unsubscribe = wakeups.subscribe(self._receive)

    def wait(self, decoder: Decoder, timeout: float | None, *, look: bool = True) -> Waiting:
        """The chain's output. Ends also when it fails, is cancelled or deleted, or when the caller's time is up."""
        chain: ChainRecord = yield from self.finished(timeout, look=look)
        return outcome(Chain(chain, decoder))

    def follow(self, chain_id: str) -> None:
        """Watch for another chain's end from now on. What ended before is not heard: look first."""
        self._chain_id, self._named = chain_id, False

    def finished(self, timeout: float | None, *, look: bool = True) -> Waiting:
        """The chain as it is when it has ended. `look=False`: it had not when the subscription began, so sleep first.

        Raises ChainNotFound when it is deleted, WaitTimeout when the caller's time is up.
        """
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            if look:
                named, self._named = self._named, False
                (record,) = yield GetChains((self._chain_id,), fresh=named)
                if record is None:
                    raise ChainNotFound(self._chain_id)
                if record.last.status.finished:
                    return record
            look = True
            poll = POLL if self._wakeups.healthy else 0.5
            left = poll if deadline is None else deadline - monotonic()
            if left <= 0:
                raise WaitTimeout(self._chain_id, timeout or 0)
            yield Nap(min(left, poll))

    def close(self) -> None:
        self._unsubscribe()

    def _receive(self, hints: Hints) -> None:
        named = self._chain_id in hints.finished
        if named or hints.anything:
            self._named |= named
            self.alarm.ring()


async def run(store: Store, alarm: Alarm, waiting: Waiting) -> Any:
    """Wait, awaiting each operation and each nap."""

    async def perform(request: Operation[Any] | Nap) -> Any:
        return await (alarm.wait(request.seconds) if isinstance(request, Nap) else store.perform(request))

    return await drive_async(waiting, perform)


def run_sync(store: Store, alarm: Alarm, waiting: Waiting) -> Any:
    """Wait, blocking on each operation and each nap."""

    def perform(request: Operation[Any] | Nap) -> Any:
        return alarm.wait_sync(request.seconds) if isinstance(request, Nap) else store.perform_sync(request)

    return drive(waiting, perform)


def outcome(chain: Chain[Any]) -> Any:
    """A finished chain's output, or the error that says how it ended."""
    match chain.status:
        case Status.COMPLETED:
            return chain.output
        case Status.CANCELLED:
            raise ChainCancelled(chain.id, chain.error)
        case _:
            raise ChainFailed(chain.id, chain.error)
