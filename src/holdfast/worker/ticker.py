"""Starts the chains of schedules when their ticks are due. Every worker has a ticker; there is no leader."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from typing import Final

import msgspec

from holdfast.client.declared_schedules import declare
from holdfast.client.schedule_changes import write_change
from holdfast.core.clock import SECOND, Micros
from holdfast.core.failure import write as write_error
from holdfast.core.retry import Retry
from holdfast.core.schedule import ScheduleRecord, read
from holdfast.core.ticks import handle_ticks, unfinished_chains
from holdfast.engine import procedures
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import (
    SCHEDULES_CHANGED,
    CancelChains,
    DueSchedules,
    GetChains,
    Started,
    StoredSchedule,
)
from holdfast.engine.store import Store
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.errors import ChainNotFound, Conflict, HoldfastError
from holdfast.registry.jobs import Jobs
from holdfast.worker.polling import Polling

BATCH: Final = 50
BUSY_DELAY: Final = 0.5
"""Seconds until the schedules are read again, if other transactions are changing every due schedule."""


class Ticker:
    """Handles the ticks of all types in the registry. Of several workers, exactly one starts the chain of a tick.

    It sleeps until the next tick, until a schedule is changed, or until the poll interval ends.
    """

    def __init__(
        self,
        store: Store,
        jobs: Jobs,
        observers: Observers,
        worker_id: str,
        *,
        polling: Polling,
        recovery: Retry,
        reported: asyncio.Event,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._observers = observers
        self._worker_id = worker_id
        self._polling = polling
        self._recovery = recovery
        self._reported = reported
        self._wake_flag = WakeFlag()

    def receive(self, hints: Hints) -> None:
        """Read the schedules again if one may have changed."""
        if hints.anything or SCHEDULES_CHANGED in hints.due:
            self._wake_flag.set()

    async def run(self) -> None:
        """Write the declared schedules, then tick until cancelled. Raises ValueError if a declared name is taken."""
        declared, failures = False, 0
        await self._reported.wait()
        while True:
            try:
                if not declared:
                    call = declare(self._jobs, worker=self._worker_id, owns=self._store.owns)
                    await procedures.run(self._store.perform, call)
                    declared = True
                wait = self._until_next(await self._tick_due())
                failures = 0
            except Exception as error:
                if isinstance(error, ValueError) and not declared:
                    raise
                if not isinstance(error, HoldfastError):
                    log.exception("worker %s could not tick schedules and tries again", self._worker_id)
                failures += 1
                self._observers.emit("store_error", worker=self._worker_id, detail=f"schedules: {error}", cause=error)
                wait = self._recovery.delay(failures)
            await self._wake_flag.wait(wait)

    def _until_next(self, wait: Micros | None) -> float:
        poll = self._polling.wait(self._store.wakeups)
        return poll if wait is None else min(poll, wait / SECOND)

    async def _tick_due(self) -> Micros | None:
        """Handle all due ticks. Returns the time until the next tick; None if there is none."""
        types = tuple(job_type.name for job_type in self._jobs)
        while True:
            found = await self._store.perform(DueSchedules(types, BATCH))
            if not found.schedules:
                return found.wait
            # The order is random, so that workers that wake at the same time rarely try the same schedule.
            schedules = random.sample(found.schedules, len(found.schedules))
            if not any([await self._tick(stored, found.now) for stored in schedules]):
                return round(BUSY_DELAY * SECOND)
            await asyncio.sleep(0)  # the memory store performs operations without suspending the task

    async def _tick(self, stored: StoredSchedule, now: Micros) -> bool:
        """Handle the due ticks of a schedule. Returns False if another caller did so, or is changing the schedule."""
        try:
            record = read(stored.body)
        except msgspec.DecodeError as error:
            log.error("schedule %r was written by another version of Holdfast: %s", stored.name, error)
            return False
        try:
            unfinished = await self._unfinished(record)
            handled = handle_ticks(record, now, unfinished)
            if handled.cancels:
                reason = write_error("Cancelled", f"the next tick of schedule {record.name!r} has come")
                await self._store.perform(CancelChains(tuple(handled.cancels), reason))
            change = write_change(
                handled.record, record.name, stored.version, handled.starts, announce=False, wait=False
            )
            started = await self._store.perform(change)
        except (ChainNotFound, Conflict):  # a chain was deleted, or started by a backfill, at the same time
            return False
        self._report(started or ())
        return started is not None

    async def _unfinished(self, record: ScheduleRecord) -> dict[str, bool]:
        if not record.unfinished:
            return {}
        chains = await self._store.perform(GetChains(record.unfinished))
        return unfinished_chains(chains)

    def _report(self, started: Iterable[Started]) -> None:
        for each in started:
            if not each.deduplicated:
                self._observers.emit("created", each.chain.first, worker=self._worker_id)
