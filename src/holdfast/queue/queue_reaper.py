"""A reaper process: returns jobs of named queues whose workers stopped renewing.

Every consumer does the same for its own queue. A reaper is useful if a queue may be without a running consumer.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from holdfast.core.defaults import REAPER_INTERVAL, REAPER_LEASE
from holdfast.core.failure import read_error
from holdfast.core.ids import new_token
from holdfast.core.record import Status
from holdfast.core.retry import Seconds, seconds
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer, Observers
from holdfast.engine.operations import GetStats, Reap, Reaped
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError
from holdfast.queue.callbacks import Callback, Callbacks
from holdfast.queue.codecs import content_id
from holdfast.queue.leadership import Leadership
from holdfast.queue.queue import Queue
from holdfast.queue.queue_type import PREFIX, type_name
from holdfast.registry.options import check_duration
from holdfast.stores.address import StoreAddress, open_store, owns_stores
from holdfast.worker.held_claims import lease_clock

BATCH = 100
LOOK_FOR_QUEUES_EVERY = 10.0

EVENTS = ("stalled", "leadership_acquired", "leadership_lost", "error")


class Reaper:
    """Watches some queues of a store, or all of them. Of several reapers for the same queues one leads.

    A job returns to the queue when its visibility timeout passed without a renewal; that counts as an attempt. This is
    one atomic operation, so a reaper that was suspended and still acts as the leader does no damage.
    """

    def __init__(
        self,
        store: StoreAddress,
        *,
        queues: Iterable[str | Queue[Any, Any]] | None = None,
        lease: Seconds = REAPER_LEASE,
        interval: Seconds = REAPER_INTERVAL,
        reaper_id: str | None = None,
        observers: Iterable[Observer | Callable[[Event], None]] = (),
    ) -> None:
        """`lease`: how long the leadership is valid without a renewal. `interval`: the time between two checks."""
        check_duration("lease", lease)
        check_duration("interval", interval)
        self.id = reaper_id or f"{socket.gethostname()}-{os.getpid()}-{new_token()[:6]}"
        names = None if queues is None else sorted(each if isinstance(each, str) else each.name for each in queues)
        election = "reaper" if names is None else f"reaper:{content_id(names)}"
        self._store = open_store(store)
        self._owns_store = owns_stores(store)
        self._types = None if names is None else tuple(map(type_name, names))
        self._found: tuple[str, ...] = ()
        self._looked = float("-inf")
        self._lease = seconds(lease)
        self._interval = seconds(interval)
        self._leadership = Leadership(election, self.id, lease=self._lease, sharded=self._store.sharded)
        self._callbacks = Callbacks(EVENTS)
        self._observers = Observers(observers)
        self._wake_flag = WakeFlag()
        self._stopping = False
        self._leads = False
        self._background: asyncio.Task[None] | None = None

    @property
    def is_leader(self) -> bool:
        return self._leads and self._leadership.held

    def on(self, event: str, callback: Callback) -> Callable[[], None]:
        """Add a callback: stalled(id, queue), leadership_acquired, leadership_lost, error(exception)."""
        return self._callbacks.on(event, callback)

    async def run(self) -> None:
        """Watch until cancelled or stopped, then release the leadership."""
        await self._store.open()
        await self._watch()

    async def __aenter__(self) -> Self:
        await self._store.open()
        self._background = asyncio.create_task(self._watch(), name=f"holdfast-reaper-{self.id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        assert self._background is not None
        await self._background

    def stop(self) -> None:
        """End `run` soon. It can be called again."""
        self._stopping = True
        self._wake_flag.set()

    async def _watch(self) -> None:
        unsubscribe = self._store.wakeups.subscribe(self._receive)
        try:
            while not self._stopping:
                try:
                    await self._look()
                except HoldfastError as error:
                    self._observers.emit("store_error", worker=self.id, detail=f"reaping: {error}", cause=error)
                    self._callbacks.emit("error", error)
                self._lead(self._leadership.held)
                await self._wake_flag.wait(self._interval if self._leads else min(self._lease / 3, self._interval * 5))
        finally:
            unsubscribe()
            self._stopping = False
            with suppress(HoldfastError):  # the lease expires
                await procedures.run(self._store.perform, self._leadership.resign())
            self._lead(False)
            if self._owns_store:
                await self._store.close()

    async def _look(self) -> None:
        leadership = self._leadership
        if not leadership.held:
            self._lead(False)
            await procedures.run(self._store.perform, leadership.campaign())
        elif leadership.renewal_is_due:
            await procedures.run(self._store.perform, leadership.renew())
        self._lead(leadership.held)
        if leadership.held:
            await self._reap(await self._watched())

    async def _watched(self) -> tuple[str, ...]:
        if self._types is not None:
            return self._types
        if lease_clock() >= self._looked + LOOK_FOR_QUEUES_EVERY:
            stats = await self._store.perform(GetStats())
            self._found = tuple(row.type for row in stats if row.type.startswith(PREFIX))
            self._looked = lease_clock()
        return self._found

    async def _reap(self, types: tuple[str, ...]) -> None:
        more = bool(types)
        while more:
            reaped = await self._store.perform(Reap(types, (), BATCH))
            for each in reaped:
                self._emit(each)
            more = len(reaped) == BATCH

    def _emit(self, reaped: Reaped) -> None:
        record = reaped.record
        self._observers.emit("reaped", record, worker=self.id, detail=f"from worker {reaped.worker}")
        if record.status is Status.FAILED:
            self._observers.emit("failed", record, worker=self.id, error=read_error(record.error))
        self._callbacks.emit("stalled", record.key, record.type.removeprefix(PREFIX))

    def _lead(self, leads: bool) -> None:
        if leads is not self._leads:
            self._leads = leads
            self._callbacks.emit("leadership_acquired" if leads else "leadership_lost")

    def _receive(self, hints: Hints) -> None:
        # When a leader resigns, the job of the leadership becomes due.
        if hints.anything or self._leadership.type in hints.due:
            self._wake_flag.set()
