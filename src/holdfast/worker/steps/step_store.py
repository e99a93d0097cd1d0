"""The reads and writes of a worker's steps, in batches: all that is ready when a write returns goes into the next one.

There are no timers. As in the settler, steps that finish together share a commit, and a batch that takes too long, for
example because of a row lock, continues separately.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from holdfast.core.record import Claim
from holdfast.core.retry import Retry
from holdfast.core.steps import Checkpoint, StepRow
from holdfast.engine.operations import GetMessages, GetSteps, LostReason, Operation, SaveSteps
from holdfast.engine.store import Store
from holdfast.errors import ClaimLost, StoreReplaced, StoreUnavailable
from holdfast.worker.abort_signal import Signal
from holdfast.worker.held_claims import HeldClaim

BATCH = 500
BATCH_TIMEOUT = 1.0
"""The maximum seconds that later items wait for an operation. A slower batch is split into two halves. They continue
separately, each with twice the time. So a locked job is soon alone in its batch."""
NEXT_HANDLERS = 2
"""Iterations of the event loop until the next handlers have run. In the first, handlers end and tasks are created."""
SEPARATE_OPERATIONS = 4
"""The maximum number of separate operations at the same time. Each may occupy a connection until the store gives up."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")

Waiting: TypeAlias = tuple[Item, "asyncio.Future[Answer]", Signal]
"""An item, the future for its answer, and the signal of its attempt."""


class Batches(Generic[Item, Answer]):
    """Performs one operation for all items that are waiting."""

    def __init__(
        self, store: Store, recovery: Retry, operation: Callable[[tuple[Item, ...]], Operation[list[Answer]]]
    ) -> None:
        self._store = store
        self._recovery = recovery
        self._operation = operation
        self._waiting: list[Waiting[Item, Answer]] = []
        self._task: asyncio.Task[None] | None = None
        self._separate: set[asyncio.Task[None]] = set()
        self._places: asyncio.Semaphore | None = None

    def submit(self, item: Item, signal: Signal) -> asyncio.Future[Answer]:
        """Perform the operation for this item. During an outage the item waits until the attempt is aborted."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer, signal))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="holdfast-steps")
        return answer

    async def answer(self, answer: asyncio.Future[Answer], claim: Claim, signal: Signal) -> Answer:
        """Wait for the answer to an item. Raises ClaimLost if the attempt is aborted during an outage."""
        try:
            return await answer
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if signal.aborted and answer.cancelled() and not (task is not None and task.cancelling()):
                # Only the answer was cancelled, not this task, which performs the call for a handler in a thread.
                raise ClaimLost(claim.job_id, signal.reason or "shutdown") from None
            raise

    def close(self) -> None:
        """End the operations that are still running."""
        for task in (self._task, *self._separate):
            if task is not None:
                task.cancel()

    async def _run(self) -> None:
        batch: list[Waiting[Item, Answer]] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                await self._perform(batch, BATCH_TIMEOUT)
                # Let handlers that got their answers end, and let the next ones begin: their steps join the next write.
                for _ in range(NEXT_HANDLERS):
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            _cancel((*batch, *self._waiting))
            raise
        finally:
            self._task = None

    def _perform_separately(self, batch: list[Waiting[Item, Answer]], within: float) -> None:
        """Continue with the halves of a batch that takes too long. Later items do not wait for them."""
        self._places = self._places or asyncio.Semaphore(SEPARATE_OPERATIONS)
        for half in filter(None, (batch[::2], batch[1::2])):
            coroutine = self._perform_in_place(self._places, half, 2 * within if len(half) > 1 else None)
            task = asyncio.get_running_loop().create_task(coroutine, name="holdfast-steps")
            self._separate.add(task)
            task.add_done_callback(self._separate.discard)

    async def _perform_in_place(
        self, places: asyncio.Semaphore, batch: list[Waiting[Item, Answer]], within: float | None
    ) -> None:
        try:
            async with places:
                await self._perform(batch, within)
        except asyncio.CancelledError:
            _cancel(batch)
            raise

    async def _perform(self, batch: list[Waiting[Item, Answer]], within: float | None) -> None:
        """Perform the operation for a batch. It may be sent more than once: repeating an operation on steps is safe."""
        failures = 0
        while batch := [each for each in batch if not each[1].done()]:
            try:
                async with asyncio.timeout(within):
                    answers = await self._store.perform(self._operation(tuple([each[0] for each in batch])))
            except TimeoutError:
                assert within is not None
                self._perform_separately(batch, within)
                return
            except StoreReplaced as error:
                _fail(batch, error)
            except StoreUnavailable:
                failures += 1
                for _, answer, signal in batch:
                    if signal.aborted:
                        answer.cancel()
                await asyncio.sleep(min(self._recovery.delay(failures), 5.0))
            except Exception as error:
                if len(batch) == 1:
                    _fail(batch, error)
                else:  # the error may concern a single item
                    for each in batch:
                        await self._perform([each], within)
            else:
                for (_, future, _), answered in zip(batch, answers, strict=True):
                    if not future.done():
                        future.set_result(answered)


class StepStore:
    """The steps and messages of all attempts of a worker."""

    def __init__(self, store: Store, recovery: Retry) -> None:
        self.store = store
        self.types: set[str] = set()
        """The types whose attempts have used steps."""
        self._loads: Batches[str, list[StepRow]] = Batches(store, recovery, GetSteps)
        self._saves: Batches[Checkpoint, LostReason | None] = Batches(store, recovery, SaveSteps)
        self._messages: Batches[tuple[str, str], bytes | None] = Batches(store, recovery, GetMessages)

    def close(self) -> None:
        """End the operations that are still running. Called after all attempts have ended."""
        for batches in (self._loads, self._saves, self._messages):
            batches.close()

    def read(self, claim: Claim, signal: Signal) -> asyncio.Future[list[StepRow]]:
        """Read the stored steps of a claimed job: only the holder of the claim changes them."""
        future = self._loads.submit(claim.job_id, signal)
        future.add_done_callback(_retrieve)
        return future

    def note_new(self, held_claims: Iterable[HeldClaim], new: Collection[str]) -> None:
        """Record that these jobs have no steps: no worker had claimed them before."""
        for each in held_claims:
            if each.record.id in new:
                each.steps = ()

    def read_ahead(self, held_claims: Iterable[HeldClaim]) -> None:
        """Read the stored steps of jobs that begin soon, in one read, if their types use steps."""
        if self.types:
            for each in held_claims:
                if each.steps is None and each.record.type in self.types:
                    each.steps = self.read(each.claim, each.signal)

    def loaded(
        self, read: asyncio.Future[list[StepRow]], claim: Claim, signal: Signal
    ) -> Coroutine[Any, Any, list[StepRow]]:
        """Wait for the stored steps. Raises ClaimLost."""
        return self._loads.answer(read, claim, signal)

    async def save(self, checkpoint: Checkpoint, signal: Signal) -> None:
        """Store a step. Raises ClaimLost."""
        reason = await self._saves.answer(self._saves.submit(checkpoint, signal), checkpoint.claim, signal)
        if reason is not None:
            raise ClaimLost(checkpoint.claim.job_id, reason)

    def message(self, chain_id: str, name: str, claim: Claim, signal: Signal) -> Awaitable[bytes | None]:
        """The value of a message; None if it was not sent."""
        return self._messages.answer(self._messages.submit((chain_id, name), signal), claim, signal)


def _cancel(batch: Iterable[tuple[Any, asyncio.Future[Any], Signal]]) -> None:
    """Cancel these answers because the worker ends: a handler in a thread must not wait for them."""
    for _, answer, _ in batch:
        answer.cancel()


def _retrieve(answer: asyncio.Future[Any]) -> None:
    """Mark an exception as retrieved: a job that is released before it begins does not await its steps."""
    if not answer.cancelled():
        answer.exception()


def _fail(batch: list[tuple[Any, asyncio.Future[Any], Signal]], error: Exception) -> None:
    for _, answer, _ in batch:
        if not answer.done():
            answer.set_exception(error)
