"""A store under watch: notes what became of claims, meets failpoints, and loses or doubles wake-ups."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from holdfast.errors import ClaimLost, StoreUnavailable
from holdfast.operations import Guard, Operation, Renew, ReportProgress, Settle, Settled
from holdfast.store import Store, SyncTransaction, Transaction
from holdfast.wakeups import Hints, Listener, Wakeups
from torture.history import History
from torture.settings import Failpoints

R = TypeVar("R")

HARMED = ("claim", "renew", "settle", "guard", "reap", "start", "complete", "cancel", "commit", "get_blockers")


class LossyWakeups:
    """Wake-ups of which some never come and some come three times."""

    def __init__(self, inner: Wakeups, *, drop: float, double: float, seed: int) -> None:
        self._inner = inner
        self._drop = drop
        self._double = double
        self._random = random.Random(seed)
        self.dropped = 0
        self.doubled = 0

    @property
    def healthy(self) -> bool:
        return self._inner.healthy

    def send(self, hints: Hints) -> None:
        self._inner.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._inner.subscribe(lambda hints: self._pass(listener, hints))

    def _pass(self, listener: Listener, hints: Hints) -> None:
        drawn = self._random.random()
        if drawn < self._drop:
            self.dropped += 1
            return
        listener(hints)
        if drawn > 1 - self._double:
            self.doubled += 1
            listener(hints)
            listener(hints)


async def opened(store: Store) -> None:
    """Open a store, however long that takes: it may be away just now."""
    while True:
        try:
            await store.open()
            return
        except StoreUnavailable:
            await asyncio.sleep(0.2)


class Watch:
    """What a process notes about its calls, and where it fails."""

    def __init__(self, history: History, failpoints: Failpoints) -> None:
        self._history = history
        self._failpoints = failpoints
        self._random = random.Random(failpoints.seed)
        self._lock = threading.Lock()
        self.armed = True

    def meet(self, verb: str, when: str) -> None:
        """Perhaps this is where the process ends."""
        points = self._failpoints
        if not self.armed or verb not in HARMED or not (points.kill or points.stop):
            return
        with self._lock:
            drawn = self._random.random()
        if drawn < points.kill:
            self._history.note("failpoint", verb=verb, when=when, action="kill")
            os.kill(os.getpid(), signal.SIGKILL)
        elif drawn < points.kill + points.stop:
            self._history.note("failpoint", verb=verb, when=when, action="stop")
            os.kill(os.getpid(), signal.SIGSTOP)

    def answered(self, operation: Operation[Any], answer: Any) -> None:
        match operation:
            case Settle(settlements=settlements):
                answers = cast("list[Settled]", answer)
                for settlement, settled in zip(settlements, answers, strict=True):
                    self._history.note(
                        "settled",
                        job=settlement.claim.job_id,
                        token=settlement.claim.token,
                        status=settlement.status.value,
                        written=settled.written,
                        released=settlement.outcome == "released",
                        lost=settled.lost,
                    )
            case Renew():
                for claim, reason in answer.items():
                    self._history.note("stale", verb="renew", job=claim.job_id, token=claim.token, reason=reason)
            case ReportProgress(claim=claim) if answer is not None:
                self._history.note("stale", verb="progress", job=claim.job_id, token=claim.token, reason=answer)
            case _:
                pass

    def raised(self, operation: Operation[Any], error: Exception) -> None:
        if isinstance(operation, Guard) and isinstance(error, ClaimLost):
            claim = operation.claim
            self._history.note("stale", verb="guard", job=claim.job_id, token=claim.token, reason=error.reason)


class WatchedStore(Store):
    """Another store, watched."""

    def __init__(self, inner: Store, watch: Watch, wakeups: LossyWakeups | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.clock = inner.clock
        self.wakeups = wakeups or inner.wakeups
        self._watch = watch

    async def perform(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        try:
            answer = await self.inner.perform(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._watch.answered(operation, answer)
        return answer

    def perform_sync(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        try:
            answer = self.inner.perform_sync(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._watch.answered(operation, answer)
        return answer

    async def begin(self) -> Transaction:
        return WatchedTransaction(await self.inner.begin(), self._watch)

    def begin_sync(self) -> SyncTransaction:
        return WatchedSyncTransaction(self.inner.begin_sync(), self._watch)

    def join(self, tx: Any) -> Transaction:
        return self.inner.join(tx)

    def join_sync(self, tx: Any) -> SyncTransaction:
        return self.inner.join_sync(tx)

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    def open_sync(self) -> None:
        self.inner.open_sync()

    def close_sync(self) -> None:
        self.inner.close_sync()

    async def migrate(self) -> list[str]:
        return await self.inner.migrate()

    def migrate_sync(self) -> list[str]:
        return self.inner.migrate_sync()


class WatchedTransaction:
    """A transaction whose settlements count once it has committed."""

    def __init__(self, inner: Transaction, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch
        self._answers: list[tuple[Operation[Any], Any]] = []

    @property
    def native(self) -> Any:
        return self._inner.native

    async def perform(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        try:
            answer = await self._inner.perform(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._answers.append((operation, answer))
        return answer

    async def commit(self) -> None:
        self._watch.meet("commit", "before")
        await self._inner.commit()
        self._watch.meet("commit", "after")
        for operation, answer in self._answers:
            self._watch.answered(operation, answer)

    async def rollback(self) -> None:
        await self._inner.rollback()
        _note_losses(self._watch, self._answers)


class WatchedSyncTransaction:
    """The same for blocking code."""

    def __init__(self, inner: SyncTransaction, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch
        self._answers: list[tuple[Operation[Any], Any]] = []

    @property
    def native(self) -> Any:
        return self._inner.native

    def perform(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        try:
            answer = self._inner.perform(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._answers.append((operation, answer))
        return answer

    def commit(self) -> None:
        self._watch.meet("commit", "before")
        self._inner.commit()
        self._watch.meet("commit", "after")
        for operation, answer in self._answers:
            self._watch.answered(operation, answer)

    def rollback(self) -> None:
        self._inner.rollback()
        _note_losses(self._watch, self._answers)


def _note_losses(watch: Watch, answers: list[tuple[Operation[Any], Any]]) -> None:
    """What was refused counts although it was rolled back; what was written does not."""
    for operation, answer in answers:
        if isinstance(operation, Settle) and not any(each.written for each in answer):
            watch.answered(operation, answer)
