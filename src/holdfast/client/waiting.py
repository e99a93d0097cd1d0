"""Waits for the end of a chain: subscribe, read the chain, sleep until a wake-up, and read it again."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from time import monotonic
from typing import Any

from holdfast.core.job import Chain, Decoder
from holdfast.core.record import ChainRecord, Status
from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import GetChains, Operation
from holdfast.engine.store import Store
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints, Wakeups
from holdfast.errors import ChainCancelled, ChainFailed, ChainNotFound, WaitTimeout

POLL = 5.0
"""Seconds between two reads while wake-ups arrive. Without wake-ups the chain is read every half second."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Sleep until the wake flag is set, at most this long."""

    seconds: float


WaitProcedure = Generator[Operation[Any] | Sleep, Any, Any]


class ChainSubscription:
    """A subscription to wake-ups for the end of one chain. It sets the wake flag."""

    def __init__(self, wakeups: Wakeups, chain_id: str) -> None:
        self.wake_flag = WakeFlag()
        self._wakeups = wakeups
        self._chain_id = chain_id
        self._named = False
        """Whether a hint has named the chain since the last read."""
        self._unsubscribe = wakeups.subscribe(self._receive)

    def wait(self, decoder: Decoder, timeout: float | None, *, look: bool = True) -> WaitProcedure:
        """The chain's output. Raises if the chain fails, is cancelled or deleted, or if the timeout expires."""
        chain: ChainRecord = yield from self.finished(timeout, look=look)
        return outcome(Chain(chain, decoder))

    def finished_after_start(self, chain_id: str, timeout: float | None, *, known_later: bool) -> WaitProcedure:
        """The end of a chain that was started after this subscription began, or of the one that the start found.

        `known_later`: the id of the chain was not known when the subscription began.
        """
        if known_later:
            self._chain_id, self._named = chain_id, False
        # A new chain had not ended when the subscription began: the first read can wait for a wake-up.
        return (yield from self.finished(timeout, look=known_later))

    def finished(self, timeout: float | None, *, look: bool = True) -> WaitProcedure:
        """The chain after its end. `look=False` sleeps first: the chain had not ended when the subscription began.

        Raises ChainNotFound if it is deleted, and WaitTimeout if the timeout expires.
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
            yield Sleep(min(left, poll))

    def close(self) -> None:
        self._unsubscribe()

    def _receive(self, hints: Hints) -> None:
        named = self._chain_id in hints.finished
        if named or hints.anything:
            self._named |= named
            self.wake_flag.set()


async def run(store: Store, chain_id: str, wait: Callable[[ChainSubscription], WaitProcedure]) -> Any:
    """Subscribe to the end of a chain, and run a procedure with the subscription."""
    with closing(ChainSubscription(store.wakeups, chain_id)) as subscription:
        wake_flag = subscription.wake_flag

        async def perform(request: Operation[Any] | Sleep) -> Any:
            return await (wake_flag.wait(request.seconds) if isinstance(request, Sleep) else store.perform(request))

        return await drive_async(wait(subscription), perform)


def run_sync(store: Store, chain_id: str, wait: Callable[[ChainSubscription], WaitProcedure]) -> Any:
    """The same for blocking code."""
    with closing(ChainSubscription(store.wakeups, chain_id)) as subscription:
        wake_flag = subscription.wake_flag

        def perform(request: Operation[Any] | Sleep) -> Any:
            return wake_flag.wait_sync(request.seconds) if isinstance(request, Sleep) else store.perform_sync(request)

        return drive(wait(subscription), perform)


def outcome(chain: Chain[Any]) -> Any:
    """The output of a finished chain. Raises ChainFailed or ChainCancelled if it has none."""
    match chain.status:
        case Status.COMPLETED:
            return chain.output
        case Status.CANCELLED:
            raise ChainCancelled(chain.id, chain.error)
        case _:
            raise ChainFailed(chain.id, chain.error)
