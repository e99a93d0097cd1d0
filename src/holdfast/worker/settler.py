"""Writes outcomes, together: whatever is ready when the last write returned goes into the next one.

No timers, so one outcome alone is written at once and a flood goes hundreds at a time. One that the store does not get
written, since somebody holds its job, moves aside and is tried on there: the others do not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from holdfast.core.failure import message_of
from holdfast.core.lifecycle import Settlement
from holdfast.core.retry import Retry
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import Settle, Settled
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError, NotPermitted, StoreReplaced, StoreUnavailable
from holdfast.worker.held_claims import Holding

BATCH = 500
PATIENCE = 10
"""How often one settlement is sent where the store fails at it without saying why."""
PROMPT = 1.0
"""Seconds that later outcomes wait for a write. What takes longer goes on aside, in halves, each with twice the time:
a job that somebody holds is soon alone, and a store that is slow is not sent hundreds of small writes instead."""
ASIDE = 4
"""Writes aside that are under way at once: each may keep a connection until the store gives up."""


Answered = Callable[[Holding, Settlement, Settled], None]


class Unsettled(msgspec.Struct, eq=False, gc=False):
    """An outcome waiting to be written, and whom to tell what became of it."""

    holding: Holding
    settlement: Settlement
    answered: Answered


class Settler:
    """Writes the settlements of a worker. While the store is away they wait; none is dropped.

    Those of one job are written in their order, since nobody submits another before the last one is answered; those of
    different jobs may overtake each other. `written` is called after each step, when everybody has heard what became of
    their settlements.
    """

    def __init__(
        self, store: Store, observers: Observers, recovery: Retry, worker_id: str, *, written: Callable[[], None]
    ) -> None:
        self._store = store
        self._observers = observers
        self._recovery = recovery
        self._worker_id = worker_id
        self._written = written
        self._waiting: list[Unsettled] = []
        self._unanswered = 0
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._places = asyncio.Semaphore(ASIDE)

    def submit(self, holding: Holding, settlement: Settlement, answered: Answered) -> None:
        """Have the settlement of a claim written; `answered` hears what became of it."""
        if not self._waiting:
            self._idle.clear()
            self._more.set()
        self._unanswered += 1
        self._waiting.append(Unsettled(holding, settlement, answered))

    async def flush(self) -> None:
        """Wait until everything submitted is written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write for ever."""
        async with asyncio.TaskGroup() as aside:
            while True:
                await self._more.wait()
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                if not self._waiting:
                    self._more.clear()
                if not await self._settle(batch, within=PROMPT):
                    detail = f"settling: not written within {PROMPT:g} s, goes on aside"
                    self._observers.emit("store_error", worker=self._worker_id, detail=detail)
                    self._move_aside(batch, aside, within=PROMPT)

    def _move_aside(self, batch: list[Unsettled], aside: asyncio.TaskGroup, *, within: float) -> None:
        for half in filter(None, (batch[::2], batch[1::2])):
            aside.create_task(self._settle_aside(half, aside, within=2 * within))

    async def _settle_aside(self, batch: list[Unsettled], aside: asyncio.TaskGroup, *, within: float) -> None:
        async with self._places:
            settled = await self._settle(batch, within=within if len(batch) > 1 else None, again=True)
        if not settled:
            self._move_aside(batch, aside, within=within)

    async def _settle(self, batch: list[Unsettled], *, within: float | None, again: bool = False) -> bool:
        """Write a batch and tell everybody; False if that took too long, and perhaps some of it is written."""
        try:
            async with asyncio.timeout(within):
                answers = await self._write(batch, again=again)
        except TimeoutError:
            return False
        for each, answer in zip(batch, answers, strict=True):
            each.answered(each.holding, each.settlement, answer)
        self._unanswered -= len(batch)
        self._written()
        if not self._unanswered:
            self._idle.set()
        return True

    async def _write(self, batch: list[Unsettled], *, again: bool) -> list[Settled]:
        failures = 0
        while True:
            try:
                return await self._store.perform(Settle(tuple([each.settlement for each in batch]), again))
            except StoreReplaced as error:
                return [Settled(refused=error) for _ in batch]
            except (StoreUnavailable, NotPermitted) as error:
                failures += 1
                self._observers.emit("store_error", worker=self._worker_id, detail=f"settling: {error}", cause=error)
            except Exception as error:
                # Something about what was sent: each goes by itself, so that one does not spoil the others.
                if len(batch) > 1:
                    return [answer for each in batch for answer in await self._write([each], again=True)]
                if isinstance(error, HoldfastError):
                    return [Settled(refused=error)]
                failures += 1
                log.exception("worker %s could not settle, for a reason its store should have named", self._worker_id)
                if failures >= PATIENCE:
                    return [Settled(refused=HoldfastError(f"{type(error).__name__}: {message_of(error)}"))]
            # Sending it again is safe: what stands written is answered like the first time.
            again = True
            await asyncio.sleep(min(self._recovery.delay(failures), 5.0))
