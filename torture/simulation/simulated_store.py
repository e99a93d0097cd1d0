"""The memory store for a simulation: with an audit, and with connections that fail."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from holdfast.core.record import Record
from holdfast.engine.operations import Operation
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction, SyncTransaction, Transaction
from holdfast.errors import StoreUnavailable
from holdfast.stores.buffered_transaction import BufferedSyncTransaction, BufferedTransaction
from holdfast.stores.memory import MemoryStore
from torture.audit import Change
from torture.failpoints import Watch
from torture.lossy_wakeups import LossyWakeups

R = TypeVar("R")


class Rows(dict[str, Record]):
    """The rows of the memory store, which record every change."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__()
        self.changes: list[Change] = []
        self.operation = 0
        self._clock = clock

    def __setitem__(self, job_id: str, record: Record) -> None:
        self._note(self.get(job_id), record)
        super().__setitem__(job_id, record)

    def pop(self, job_id: str, *default: Any) -> Any:
        if (record := self.get(job_id)) is not None:
            self._note(record, None)
        return super().pop(job_id, *default)

    def _note(self, before: Record | None, after: Record | None) -> None:
        known = after or before
        assert known is not None
        self.changes.append(
            Change(
                seq=len(self.changes) + 1,
                at=self._clock(),
                tx=str(self.operation),
                id=known.id,
                chain=known.chain_id,
                index=known.index,
                type=known.type,
                before=None if before is None else str(before.status),
                after=None if after is None else str(after.status),
                attempt_before=0 if before is None else before.attempt,
                attempt=known.attempt,
                max_attempts=known.max_attempts,
                token_before=None if before is None else before.token,
                token=None if after is None else after.token,
                leased_before=None if before is None else before.leased_until,
                leased_until=None if after is None else after.leased_until,
                scheduled_before=None if before is None else before.scheduled_at,
                scheduled_at=None if after is None else after.scheduled_at,
                priority=known.priority,
                worker_before=None if before is None else before.worker,
                worker=None if after is None else after.worker,
                key=known.key,
                finished_at=known.finished_at,
                keep=known.keep,
            )
        )


class AuditedStore(MemoryStore):
    """The memory store with an audit. Each operation has a number, which serves as transaction id."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(clock=clock)
        self.rows = Rows(clock)
        self._state.jobs = self.rows

    def perform_sync(self, operation: Operation[R], /) -> R:
        self.rows.operation += 1
        return super().perform_sync(operation)


class Crashed(BaseException):
    """The simulated process has crashed. The library does not catch this exception."""


@dataclass(slots=True)
class FaultRates:
    """The probabilities of faults of a connection."""

    before: float = 0.0
    after: float = 0.0
    """The probabilities that a call fails before it is performed, or after (the caller does not know which)."""
    slowest: float = 0.02
    crash: float = 0.0
    """The probability that the process crashes in a call."""


class Connection(Store):
    """The connection of one process to the store."""

    def __init__(
        self, inner: AuditedStore, fault_rates: FaultRates, *, rng: random.Random, watch: Watch, wakeups: LossyWakeups
    ) -> None:
        self.inner = inner
        self.name = inner.name
        self.wakeups = wakeups
        self.fault_rates = fault_rates
        self.dead = False
        self.cut_until = 0.0
        self.faults = 0
        self.calls = 0
        self._random = rng
        self._watch = watch

    async def perform(self, operation: Operation[R], /) -> R:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._random.random() * self.fault_rates.slowest)
        if loop.time() < self.cut_until:
            await asyncio.sleep(self.cut_until - loop.time())
            # A request sent before the cut may be lost, or arrive now, after the caller has timed out.
            if self._random.random() < 0.5:
                self._fail()
        answer = self._perform(operation)
        await asyncio.sleep(self._random.random() * self.fault_rates.slowest)
        return answer

    def perform_sync(self, operation: Operation[R], /) -> R:
        if asyncio.get_running_loop().time() < self.cut_until:
            self._fail()
        return self._perform(operation)

    def _perform(self, operation: Operation[R]) -> R:
        self.calls += 1
        if self.dead:
            raise Crashed
        drawn = self._random.random()
        if drawn < self.fault_rates.before:
            self._fail()
        if drawn < self.fault_rates.before + self.fault_rates.crash / 2:
            self._die()
        asked = self._watch.asked(operation)
        try:
            answer = self.inner.perform_sync(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        if drawn > 1 - self.fault_rates.crash / 2:
            self._die()
        if drawn > 1 - self.fault_rates.crash / 2 - self.fault_rates.after:
            self._fail()
        self._watch.answered(operation, answer, asked)
        return answer

    def _fail(self) -> None:
        self.faults += 1
        raise StoreUnavailable(self.name, "a simulated fault")

    def _die(self) -> None:
        self.dead = True
        raise Crashed

    async def begin(self) -> Transaction:
        return BufferedTransaction(self)

    def begin_sync(self) -> SyncTransaction:
        return BufferedSyncTransaction(self)

    def join(self, tx: Any) -> AppTransaction:
        return self.inner.join(tx)

    def join_sync(self, tx: Any) -> SyncAppTransaction:
        return self.inner.join_sync(tx)

    async def open(self) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""

    def open_sync(self) -> None:
        """Does nothing."""

    def close_sync(self) -> None:
        """Does nothing."""

    async def migrate(self) -> list[str]:
        return []

    def migrate_sync(self) -> list[str]:
        return []
