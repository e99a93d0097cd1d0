"""What the steps of one attempt need from the worker: the store, the time and the rules."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from holdfast.core.clock import SECOND, Micros, duration
from holdfast.core.record import Record
from holdfast.core.steps import Checkpoint, StepRow
from holdfast.worker.abort_signal import Signal
from holdfast.worker.held_claims import StepsRead, lease_clock
from holdfast.worker.steps.log import Key, StepLog
from holdfast.worker.steps.step_store import StepStore

POLL = 0.1
"""Seconds between two reads of a message while the running attempt waits for it."""

R = TypeVar("R")

_CREATING = threading.Lock()


class AttemptSteps:
    """The steps of one attempt. Its coroutines run on the event loop of the worker."""

    # Because of the slots here and in StepLog, the garbage collector visits few objects of a waiting attempt.
    __slots__ = (
        "_claimed", "_in_block", "_log", "_read", "_record", "_signal", "_since", "_store", "_waiting", "waited",
    )  # fmt: skip

    def __init__(
        self,
        record: Record,
        signal: Signal,
        claimed: float,
        *,
        store: StepStore,
        read: StepsRead | None = None,
        in_block: Callable[[], bool],
    ) -> None:
        """`claimed` is a time before the claim of the job, on the lease clock."""
        self.waited = 0.0
        """Seconds in which the attempt has waited for the store."""
        self._waiting = 0
        self._since = 0.0
        self._read = read
        self._log: StepLog | None = None
        self._in_block = in_block
        self._record = record
        self._signal = signal
        self._claimed = claimed
        self._store = store

    @property
    def log(self) -> StepLog:
        """The steps of the attempt. Created when they are first used: most attempts have none."""
        if (log := self._log) is None:
            with _CREATING:
                if (log := self._log) is None:
                    log = self._log = StepLog(self._record, in_block=self._in_block)
        return log

    @property
    def suspended(self) -> bool:
        """Whether the attempt is suspended."""
        return self._log is not None and self._log.suspended

    def now(self) -> Micros:
        """The time of the store: the time of the claim, plus the time that has passed on this machine since then."""
        clock = self._store.store.clock
        if clock is not None:
            return clock()
        return (self._record.started_at or 0) + duration(lease_clock() - self._claimed)

    async def load(self) -> None:
        """Read the stored steps, unless they are loaded. Steps that begin together share one batch of reads."""
        if not self.log.loaded:
            rows = self._known()
            if rows is None:
                rows = await self.stored()
            if not self.log.loaded:  # otherwise another step has read them, and may have stored its result
                self.log.adopt(rows)

    async def stored(self) -> list[StepRow]:
        """The stored steps. They may be known from the claim, or read before the attempt began."""
        if (known := self._known()) is not None:
            return known
        read, self._read = self._read, None
        if not isinstance(read, asyncio.Future):
            read = self._store.read(self._record.claim, self._signal)
        return await self._wait_for(self._store.loaded(read, self._record.claim, self._signal))

    def _known(self) -> list[StepRow] | None:
        """The stored steps if they are known from the claim. Only the first call returns them."""
        self._store.types.add(self._record.type)
        if not isinstance(self._read, tuple):
            return None
        known, self._read = list(self._read), None
        return known

    async def save(self, checkpoint: Checkpoint) -> Checkpoint:
        """Store a step, and return the checkpoint that is stored. Raises ClaimLost.

        If the checkpoint is a timeout and the message was sent before it, the message is stored instead.
        """
        await self._wait_for(self._store.save(checkpoint, self._signal))
        if checkpoint.is_timeout and (value := await self._sent_before(checkpoint)) is not None:
            checkpoint = msgspec.structs.replace(checkpoint, result=value, error=None)
            await self._wait_for(self._store.save(checkpoint, self._signal))
        self.log.saved(checkpoint)
        return checkpoint

    async def _sent_before(self, timeout: Checkpoint) -> bytes | None:
        """The message if it was sent before the timeout was stored; None if it was sent later, or not at all."""
        if (value := await self.message(timeout.name)) is None:
            return None
        stored = any(row.final and (row.name, row.each) == (timeout.name, timeout.each) for row in await self.stored())
        return None if stored else value

    async def message(self, name: str) -> bytes | None:
        """The message of the chain with this name."""
        message = self._store.message(self._record.chain_id, name, self._record.claim, self._signal)
        return await self._wait_for(message)

    async def _wait_for(self, answer: Awaitable[R]) -> R:
        """Wait for the store, and add the time to `waited`. The time of concurrent waits counts once."""
        if not self._waiting:
            self._since = lease_clock()
        self._waiting += 1
        try:
            return await answer
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.waited += lease_clock() - self._since

    async def save_positions(self) -> None:
        """Store the positions of cursors before the attempt is suspended."""
        positions, self.log.positions = self.log.positions, {}
        for key, position in positions.items():
            await self.save(position_of(self.log, key, position, done=False))

    async def pause(self, until: Micros) -> None:
        """Wait in the running attempt until this time. A manual clock that reaches this time also ends the wait."""
        clock: Any = self._store.store.clock
        left = (until - self.now()) / SECOND
        if not hasattr(clock, "waiting"):
            await asyncio.sleep(max(left, 0))
            return
        loop, moved = asyncio.get_running_loop(), asyncio.Event()
        with clock.waiting(until, lambda: loop.call_soon_threadsafe(moved.set)):
            timer = loop.call_later(max(left, 0), moved.set)
            try:
                await moved.wait()
            finally:
                timer.cancel()


def position_of(log: StepLog, key: Key, position: tuple[int, bytes], *, done: bool) -> Checkpoint:
    """The checkpoint of a cursor."""
    count, last = position
    return log.checkpoint(key, "cursor", result=b"[%d,%s]" % (count, last), done=done)


def read_position(row: StepRow | None) -> tuple[int, bytes]:
    """How many items of a cursor are finished, and the last one as JSON."""
    if row is None or row.result is None:
        return 0, b"null"
    count, last = msgspec.json.decode(row.result, type=tuple[int, msgspec.Raw])
    return count, bytes(last)
