"""The events of operations in the application's own transactions: delivered after the commit, never after a rollback.

A driver with a commit hook delivers them from the hook. For a driver without one, the client writes a mark in the same
transaction, and keeps the events in memory. It searches for the marks in the store at its next call, at the next
wake-up, and when it is closed. A mark that exists proves the commit. A mark that is missing after the transaction has
ended proves a rollback of the transaction, or of a savepoint in it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from holdfast.core.ids import new_id
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.observers import LogThrottle, Observers, log
from holdfast.engine.operations import FindMarks, FoundMarks, Mark
from holdfast.engine.procedures import Procedure
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction
from holdfast.engine.wakeups import Hints

R = TypeVar("R")

EventsOf = Callable[[Observers, R], list[Event]]
"""Returns the events of an answer; an empty list if no observer receives them."""

LIMIT: Final = 10_000
"""Maximum number of events in memory. Above it the oldest are dropped, with a warning in the log."""


class _Held:
    """The events of one transaction, by mark. Marks sort by age."""

    def __init__(self, is_open: Callable[[], bool]) -> None:
        self.is_open = is_open
        self.events: dict[str, Sequence[Event]] = {}


class _HeldEvents:
    """Events of transactions without a commit hook. Any thread may use it."""

    def __init__(self, store: Store, observers: Observers) -> None:
        self._store = store
        self._observers = observers
        self._log_throttle = LogThrottle()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._subscribing = threading.Lock()
        self._unsubscribe: Callable[[], None] | None = None
        self._held: dict[int, _Held] = {}
        """By the identity of the application's connection, which `is_open` keeps alive."""
        self._count = 0
        self._found: tuple[str, ...] = ()
        """Marks that were found, and can be deleted."""

    def _forget_parent(self) -> None:
        """In a forked child: begin without events, because the existing ones belong to the parent process."""
        if self._pid != os.getpid():
            self._begin()

    def _hold(self, events: Sequence[Event], tx: AppTransaction | SyncAppTransaction) -> Procedure[None]:
        """Runs in the transaction: deliver the events from the commit hook, or write a mark and keep the events."""
        if tx.after_commit(lambda: self._observers.deliver(events)):
            return
        mark = new_id()
        yield Mark(mark)
        self._forget_parent()
        self._add(tx, mark, events)
        with self._subscribing:
            if self._unsubscribe is None:
                self._unsubscribe = self._store.wakeups.subscribe(self._receive)

    def _look(self, *, ended: bool) -> Procedure[None]:
        """Search for marks and deliver the events of committed transactions. With `ended`, only of ended transactions.

        One search at a time. An error of the store is logged: it must not fail the call that started the search.
        """
        self._forget_parent()
        with self._lock:
            # Read before the search: a transaction that has ended by now and left no mark was rolled back.
            over = {key for key, held in self._held.items() if not held.is_open()}
            searched = over if ended else {*self._held}
            marks = {mark: key for key in searched for mark in self._held[key].events}
        if not marks:
            return
        try:
            found: FoundMarks = yield FindMarks(tuple(marks), self._found)
        except Exception as error:
            if self._log_throttle.should_log(type(error)):
                log.warning("the search for committed transactions failed: %s", error)
            return
        self._found = tuple(found.ids)
        with self._lock:
            committed = self._remove(marks, {*found.ids}, over if found.final else set())
        for events in committed:
            self._observers.deliver(events)

    def _remove(self, marks: dict[str, int], found: set[str], over: set[int]) -> list[Sequence[Event]]:
        """Remove marks that were found, and marks of rolled back transactions. Returns the events of the former."""
        committed: list[Sequence[Event]] = []
        for mark, key in sorted(marks.items()):
            held = self._held.get(key)
            if held is None or (mark not in found and key not in over):
                continue
            events = held.events.pop(mark, ())  # a missing mark was dropped in the meantime
            self._count -= len(events)
            if mark in found:
                committed.append(events)
            if not held.events:
                del self._held[key]
        return committed

    def _add(self, tx: AppTransaction | SyncAppTransaction, mark: str, events: Sequence[Event]) -> None:
        with self._lock:
            self._held.setdefault(id(tx.native), _Held(tx.is_open)).events[mark] = events
            self._count += len(events)
            dropped = self._drop_oldest()
        if dropped:
            log.warning("%d events of transactions whose end is not known were dropped, the oldest first", dropped)

    def _drop_oldest(self) -> int:
        """Drop events until no more than the limit are held. Returns how many were dropped."""
        dropped = 0
        while self._count > LIMIT and (oldest := self._oldest()) is not None:
            held, mark = oldest
            events = held.events.pop(mark)
            self._count -= len(events)
            dropped += len(events)
        return dropped

    def _oldest(self) -> tuple[_Held, str] | None:
        """The oldest mark, unless it is the only one."""
        oldest = sorted((min(held.events), key) for key, held in self._held.items() if held.events)
        if not oldest or (len(oldest) == 1 and len(self._held[oldest[0][1]].events) == 1):
            return None
        mark, key = oldest[0]
        return self._held[key], mark

    def _receive(self, hints: Hints) -> None:
        """Start a search soon, on the event loop or in a thread. Any thread calls this with every wake-up."""
        raise NotImplementedError

    def _unsubscribe_wakeups(self) -> None:
        with self._subscribing:
            unsubscribe, self._unsubscribe = self._unsubscribe, None
        if unsubscribe is not None:
            unsubscribe()


class TxEvents(_HeldEvents):
    """Runs the calls of a client and delivers their events, on the event loop."""

    _loop: asyncio.AbstractEventLoop | None = None
    _looking: asyncio.Lock
    _task: asyncio.Task[None] | None = None
    _again = False

    async def run(self, call: Procedure[R], tx: Any, events_of: EventsOf[R] | None = None) -> R:
        """Run a call on the store or in the application's transaction, and deliver its events after the commit."""
        if self._held:
            await self.look(ended=tx is not None)
        if tx is None:
            answer = await procedures.run(self._store.perform, call)
            if events_of is not None and (events := events_of(self._observers, answer)):
                self._observers.deliver(events)
            return answer
        joined = self._store.join(tx)
        answer = await procedures.run(joined.perform, call)
        if events_of is not None:
            await self.hold(events_of(self._observers, answer), joined)
        return answer

    async def look(self, *, ended: bool = False) -> None:
        """Deliver the events of transactions that were committed since the last call."""
        if self._held:
            self._attach()
            async with self._looking:
                await procedures.run(self._store.perform, self._look(ended=ended))

    async def hold(self, events: Sequence[Event], tx: AppTransaction) -> None:
        """Deliver these events after the commit of this transaction."""
        if events:
            self._attach()
            await procedures.run(tx.perform, self._hold(events, tx))

    async def close(self) -> None:
        """Deliver the events of committed transactions. The others are dropped."""
        self._unsubscribe_wakeups()
        await self.look()

    def _receive(self, hints: Hints) -> None:
        loop = self._loop
        if self._held and loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._look_soon)

    def _attach(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._looking, self._task = loop, asyncio.Lock(), None

    def _look_soon(self) -> None:
        if self._task is not None:
            self._again = True
            return
        self._task = asyncio.get_running_loop().create_task(self._look_in_background())

    async def _look_in_background(self) -> None:
        try:
            self._again = True
            while self._again:
                self._again = False
                await self.look()
        finally:
            self._task = None


class SyncTxEvents(_HeldEvents):
    """The same for blocking code: in the thread of a call, or in a thread of its own after a wake-up."""

    def _begin(self) -> None:
        super()._begin()
        # An observer may call the client.
        self._looking = threading.RLock()
        self._thread: threading.Thread | None = None
        self._again = False

    def run(self, call: Procedure[R], tx: Any, events_of: EventsOf[R] | None = None) -> R:
        if self._held:
            self.look(ended=tx is not None)
        if tx is None:
            answer = procedures.run_sync(self._store.perform_sync, call)
            if events_of is not None and (events := events_of(self._observers, answer)):
                self._observers.deliver(events)
            return answer
        joined = self._store.join_sync(tx)
        answer = procedures.run_sync(joined.perform, call)
        if events_of is not None:
            self.hold(events_of(self._observers, answer), joined)
        return answer

    def look(self, *, ended: bool = False) -> None:
        if self._held:
            with self._looking:
                procedures.run_sync(self._store.perform_sync, self._look(ended=ended))

    def hold(self, events: Sequence[Event], tx: SyncAppTransaction) -> None:
        if events:
            procedures.run_sync(tx.perform, self._hold(events, tx))

    def close(self) -> None:
        self._unsubscribe_wakeups()
        with self._lock:  # it is started under this lock
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self.look()

    def _receive(self, hints: Hints) -> None:
        if not self._held:
            return
        with self._lock:
            self._again = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._look_in_background, name="holdfast-tx-events", daemon=True)
                self._thread.start()

    def _look_in_background(self) -> None:
        while True:
            with self._lock:
                if not self._again:
                    self._thread = None
                    return
                self._again = False
            self.look()
