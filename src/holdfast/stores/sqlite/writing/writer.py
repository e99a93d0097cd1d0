"""Perform writing operations outside of transactions, on one connection per process.

Operations that arrive while the connection is busy share the next commit, because an fsync takes longer than many
operations. A blocking caller performs all waiting operations itself. Async callers leave them to a thread.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic
from typing import TypeVar, cast

from holdfast.core.clock import Micros
from holdfast.engine.operations import Operation
from holdfast.engine.uninterrupted import in_main_thread
from holdfast.engine.wakeups import Hints
from holdfast.errors import StoreUnavailable
from holdfast.stores.sql.plan import Plan
from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.writing.write_connection import WriteConnection
from holdfast.stores.sqlite.writing.write_queue import Waiter
from holdfast.stores.sqlite.writing.write_request import WriteRequest, wake_callers

R = TypeVar("R")

_TOGETHER = 64
"""Maximum number of operations in one transaction, so that other writers do not wait too long."""


class Writer:
    """Performs writing operations in the order of their requests. Safe from any thread and any event loop."""

    def __init__(
        self,
        file: DatabaseFile,
        *,
        clock: Callable[[], Micros],
        write_hints: Callable[[Hints], Plan[None]],
        send: Callable[[Hints], None],
    ) -> None:
        self._file = file
        self._send = send
        self._requests: deque[WriteRequest] = deque()
        self._writing = WriteConnection(file, clock=clock, write_hints=write_hints)
        self._work: SimpleQueue[None] = SimpleQueue()
        self._closing = self._closed = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._using = threading.Lock()
        """Held while the connection is used: closing it during a statement crashes the interpreter."""

    def perform_sync(self, operation: Operation[R]) -> R:
        """Perform an operation. It is committed when this returns."""
        if in_main_thread():
            return self._perform_alone(operation)
        request = WriteRequest(operation)
        self._requests.append(request)
        try:
            self._write_until_done(request)
        except BaseException:
            request.given_up = True
            raise
        return cast(R, request.outcome())

    async def perform(self, operation: Operation[R]) -> R:
        """Perform an operation. If the task is cancelled before it begins, it is not performed."""
        request = WriteRequest(operation, asyncio.get_running_loop().create_future())
        assert request.future is not None
        self._requests.append(request)
        try:
            self._wake_thread()
            await request.future
        except BaseException:
            request.given_up = True
            raise
        return cast(R, request.outcome())

    def close(self) -> None:
        """Perform the requests of async code, then close the connection and end the thread.

        Waits for a thread that is writing. A blocking caller that still waits in the write queue is refused.
        """
        with self._starting:
            self._closing = True
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()
        with self._using:
            self._writing.close()
            self._closed = True
        # In this order: a caller that does not see `_closed` yet relies on this call.
        self._refuse_waiting()

    def _wake_thread(self) -> None:
        if self._thread is None:
            self._start_thread()
        self._work.put(None)
        if self._closed:
            self._refuse_waiting()

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None and not self._closing:
                thread = threading.Thread(target=self._run, name="holdfast-sqlite-writer", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        closing = False
        while not closing:
            self._work.get()
            closing = self._closing  # read first: requests from before the close are performed
            while (first := self._first()) is not None:
                self._write(first)

    def _first(self) -> WriteRequest | None:
        try:
            return self._requests[0]
        except IndexError:
            return None

    def _perform_alone(self, operation: Operation[R]) -> R:
        """Perform an operation in the main thread, where an exception of a signal handler may come at any point.

        Operations of other threads do not share this transaction, so the exception cannot undo them. Every action is
        inside the `try` that undoes it: see `holdfast.engine.uninterrupted`.
        """
        request, waiter, queue = WriteRequest(operation), Waiter(), self._file.write_queue
        try:
            try:
                if not queue.enter_sync(waiter, self._file.timeout):
                    raise self._file.blocked()
                with self._using:
                    self._perform_interruptibly(request)
            finally:
                queue.waiters.pop(waiter, None)
                queue.admit_first()
        except BaseException:
            queue.admit_first()  # the first call may have been interrupted
            raise
        return cast(R, request.outcome())

    def _perform_interruptibly(self, request: WriteRequest) -> None:
        try:
            if self._closed:
                request.fail(self._refusal())
                return
            try:
                hints = self._writing.perform([request])
            except sqlite3.Error as error:
                request.fail(self._writing.translated(error))
                return
            request.done = True
            if hints:
                self._send(hints)
            if self._writing.needs_maintenance():
                self._writing.maintain()
        except BaseException:
            # Close instead of rollback: one call ends the transaction and discards the connection.
            connection, self._writing.connection = self._writing.connection, None
            if connection is not None:
                connection.close()
            raise

    def _write_until_done(self, request: WriteRequest) -> None:
        while not request.done:
            self._write(request)

    def _write(self, request: WriteRequest) -> None:
        """Enter the write queue, then perform the waiting requests, unless another thread has performed this one."""
        waiter = Waiter()
        try:
            admitted = self._file.write_queue.enter_sync(waiter, self._file.timeout)
        except BaseException:
            self._file.write_queue.leave(waiter)
            raise
        if not admitted:
            self._give_up(request)
            return
        together: list[WriteRequest] = []
        try:
            if not request.done:
                with self._using:
                    self._perform_waiting(together)
        finally:
            self._file.write_queue.leave(waiter)
            # Last: an event loop that wakes up while this thread runs would wait for the interpreter lock.
            wake_callers(together)

    def _give_up(self, request: WriteRequest) -> None:
        """Fail a request that was not admitted before its timeout, and all others that have waited as long."""
        before = monotonic() - self._file.timeout
        for other in list(self._requests):
            if other is request or other.since <= before:
                try:
                    self._requests.remove(other)
                except ValueError:
                    continue  # another thread performs it now
                other.fail(self._file.blocked())
                wake_callers([other])

    def _refuse_waiting(self) -> None:
        """Fail the remaining requests: the store was closed."""
        while True:
            try:
                request = self._requests.popleft()
            except IndexError:
                return
            request.fail(self._refusal())
            wake_callers([request])

    def _refusal(self) -> RuntimeError:
        return RuntimeError(f"{self._file.name} was closed while this operation waited in the write queue")

    def _perform_waiting(self, together: list[WriteRequest]) -> None:
        """Perform the waiting requests and add them to `together`. The caller wakes their callers afterwards."""
        if self._closed:
            self._refuse_waiting()
        while self._requests and len(together) < _TOGETHER:
            request = self._requests.popleft()
            if not request.given_up:
                together.append(request)
        if not together:
            return
        try:
            hints = self._writing.perform(together)
        except sqlite3.Error as error:
            for request in together:
                request.fail(self._writing.translated(error))
        except Exception as error:
            for request in together:
                request.fail(error)
        except BaseException:
            for request in together:
                request.fail(StoreUnavailable(self._file.name, "the thread that was writing was interrupted"))
            raise
        else:
            for request in together:
                request.done = True
            if hints:
                self._send(hints)
        if self._writing.needs_maintenance():
            wake_callers(together)
            together.clear()
            self._writing.maintain()
