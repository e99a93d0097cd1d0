"""Writes settlements in batches: everything that is ready when a write returns goes into the next write.

A single settlement is written at once, and many are written hundreds at a time. A timer is used in one case only: while
other jobs wait for slots, settlements of attempts with steps are delayed a little, and written together. A batch that
takes too long, for example because of a row lock, is written separately: later settlements do not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from holdfast.core.failure import message_of
from holdfast.core.lifecycle import Settlement
from holdfast.core.retry import Retry
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import AttemptLog, SaveLogs, Settle, Settled
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError, NotPermitted, StoreReplaced, StoreUnavailable
from holdfast.worker.held_claims import HeldClaim

BATCH = 500
ENOUGH = 100
"""Settlements that may be written later are written when there are this many."""
LATEST = 0.05
"""The maximum seconds that these settlements wait. Jobs that are claimed ahead wait as long for a slot."""
UNNAMED_ERROR_TRIES = 10
"""How often one settlement is sent if the store raises an error that it did not translate."""
BATCH_TIMEOUT = 1.0
"""The maximum seconds that later settlements wait for a write. A slower batch is split into halves, which are written
separately, each with twice the time. So a locked job is soon alone in its batch, and a slow store does not receive
hundreds of small writes."""
SEPARATE_WRITES = 4
"""The maximum number of separate writes at the same time. Each may occupy a connection until the store gives up."""


Answered = Callable[[HeldClaim, Settlement, Settled], None]


class PendingSettlement(msgspec.Struct, eq=False, gc=False):
    """A settlement to be written, and the callback for its result."""

    held_claim: HeldClaim
    settlement: Settlement
    answered: Answered
    log: bytes | None = None
    """The log of the handler, if it is stored with the attempt."""


class Settler:
    """Writes the settlements of a worker. While the store is unavailable they wait; none is dropped.

    Settlements of one job are written in order: the next is submitted only after the result of the last. Those of
    different jobs may be written in any order. `written` is called after each write and its callbacks.
    """

    def __init__(
        self, store: Store, observers: Observers, recovery: Retry, worker_id: str, *, written: Callable[[], None]
    ) -> None:
        self._store = store
        self._observers = observers
        self._recovery = recovery
        self._worker_id = worker_id
        self._written = written
        self._waiting: list[PendingSettlement] = []
        self._unanswered = 0
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._places = asyncio.Semaphore(SEPARATE_WRITES)
        self._timer: asyncio.TimerHandle | None = None

    def submit(
        self,
        held_claim: HeldClaim,
        settlement: Settlement,
        answered: Answered,
        log: bytes | None = None,
        *,
        later: bool = False,
    ) -> None:
        """Queue the settlement of a claim, with the log of its attempt. `answered` is called with its result.

        With `later`, it is not written until a settlement without `later` is submitted, `ENOUGH` settlements wait, or
        `LATEST` seconds have passed.
        """
        is_first = not self._waiting
        if is_first:
            self._idle.clear()
        self._waiting.append(PendingSettlement(held_claim, settlement, answered, log))
        if not later:
            if is_first or self._timer is not None:  # otherwise the event is already set
                self._more.set()
        elif len(self._waiting) >= ENOUGH:
            self._more.set()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LATEST, self._write_waiting)

    async def flush(self) -> None:
        """Wait until all submitted settlements are written."""
        self._write_waiting()
        await self._idle.wait()

    def _write_waiting(self) -> None:
        self._stop_timer()
        if self._waiting:
            self._more.set()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as aside:
            while True:
                await self._more.wait()
                if self._timer is not None:
                    # Let the next handlers send their steps first: slots wait for steps, and not for settlements.
                    await asyncio.sleep(0)
                    self._stop_timer()
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                self._unanswered += len(batch)
                if not self._waiting:
                    self._more.clear()
                if not await self._settle(batch, within=BATCH_TIMEOUT):
                    detail = f"settling: not written within {BATCH_TIMEOUT:g} s, continues separately"
                    self._observers.emit("store_error", worker=self._worker_id, detail=detail)
                    self._write_separately(batch, aside, within=BATCH_TIMEOUT)

    def _write_separately(self, batch: list[PendingSettlement], aside: asyncio.TaskGroup, *, within: float) -> None:
        for half in filter(None, (batch[::2], batch[1::2])):
            aside.create_task(self._settle_separately(half, aside, within=2 * within))

    async def _settle_separately(
        self, batch: list[PendingSettlement], aside: asyncio.TaskGroup, *, within: float
    ) -> None:
        async with self._places:
            settled = await self._settle(batch, within=within if len(batch) > 1 else None, again=True)
        if not settled:
            self._write_separately(batch, aside, within=within)

    async def _settle(self, batch: list[PendingSettlement], *, within: float | None, again: bool = False) -> bool:
        """Write a batch and call the callbacks. Returns False after the timeout; a part may be written."""
        try:
            async with asyncio.timeout(within):
                answers = await self._write(batch, again=again)
        except TimeoutError:
            return False
        for each, answer in zip(batch, answers, strict=True):
            each.answered(each.held_claim, each.settlement, answer)
        self._unanswered -= len(batch)
        batch.clear()  # the callback of a failed attempt refers to its exception, and so to its frames
        self._written()
        if not self._unanswered and not self._waiting:
            self._idle.set()
        return True

    async def _save_logs(self, logs: list[AttemptLog]) -> None:
        """Write the logs of attempts, before their settlements end the claims. Raises StoreUnavailable.

        After another error the settlements are written without logs: a log must not delay the end of a job.
        """
        try:
            await self._store.perform(SaveLogs(tuple(logs)))
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("worker %s could not store the logs of %d attempts", self._worker_id, len(logs))

    async def _write(self, batch: list[PendingSettlement], *, again: bool) -> list[Settled]:
        failures = 0
        while True:
            try:
                if logs := [AttemptLog(each.held_claim.claim, each.log) for each in batch if each.log is not None]:
                    await self._save_logs(logs)
                return await self._store.perform(Settle(tuple([each.settlement for each in batch]), again))
            except StoreReplaced as error:
                return [Settled(refused=error) for _ in batch]
            except (StoreUnavailable, NotPermitted) as error:
                failures += 1
                self._observers.emit("store_error", worker=self._worker_id, detail=f"settling: {error}", cause=error)
            except Exception as error:
                # The error may concern a single settlement: write each by itself, so that the others succeed.
                if len(batch) > 1:
                    return [answer for each in batch for answer in await self._write([each], again=True)]
                if isinstance(error, HoldfastError):
                    return [Settled(refused=error)]
                failures += 1
                log.exception(
                    "worker %s could not settle: the store raised an error that it did not translate", self._worker_id
                )
                if failures >= UNNAMED_ERROR_TRIES:
                    return [Settled(refused=HoldfastError(f"{type(error).__name__}: {message_of(error)}"))]
            # Sending it again is safe: if the settlement is already written, the store repeats its first answer.
            again = True
            await asyncio.sleep(min(self._recovery.delay(failures), 5.0))
