"""The one connection of a process that performs writing operations outside of transactions.

Whoever comes while it is busy joins the next commit: an fsync takes longer than many operations, so they share it.
Blocking callers do the work themselves, for everyone who waits; async callers leave it to a thread.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeVar, cast

from holdfast.core.clock import Micros
from holdfast.engine.operations import Operation
from holdfast.engine.uninterrupted import in_main_thread
from holdfast.engine.wakeups import Hints
from holdfast.errors import StoreUnavailable
from holdfast.stores.sql.plan import Execution, Plan, gather, run
from holdfast.stores.sqlite.connection.database_file import File
from holdfast.stores.sqlite.connection.execute import Execute, executor
from holdfast.stores.sqlite.errors import is_busy, translate
from holdfast.stores.sqlite.verbs.plans import plan
from holdfast.stores.sqlite.wal.wal import Log
from holdfast.stores.sqlite.writing.write_queue import Waiter

R = TypeVar("R")

_NOTHING = Hints()

_TOGETHER = 64
"""Operations in one transaction at most, so that nobody else waits too long."""


class _Asked:
    """An operation that somebody waits for."""

    __slots__ = ("answer", "done", "error", "future", "given_up", "operation", "since")

    def __init__(self, operation: Operation[Any], future: asyncio.Future[None] | None = None) -> None:
        self.operation = operation
        self.future = future
        self.since = monotonic()
        self.done = False
        self.given_up = False
        self.answer: Any = None
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        self.done, self.error = True, error

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.answer


class Writer:
    """Performs writing operations, in the order they were asked for. Safe from any thread and any event loop."""

    def __init__(
        self,
        file: File,
        *,
        clock: Callable[[], Micros],
        emit: Callable[[Hints], Plan[None]],
        send: Callable[[Hints], None],
    ) -> None:
        self._file = file
        self._clock = clock
        self._emit = emit
        self._send = send
        self._asked: deque[_Asked] = deque()
        self._connection: sqlite3.Connection | None = None
        self._log = Log(file)
        self._work: SimpleQueue[None] = SimpleQueue()
        self._closing = self._closed = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._using = threading.Lock()
        """Held by whoever uses the connection: closed under a statement, it takes the interpreter with it."""

    def perform_sync(self, operation: Operation[R]) -> R:
        """Perform an operation, committed when this returns."""
        if in_main_thread():
            return self._perform_alone(operation)
        asked = _Asked(operation)
        self._asked.append(asked)
        try:
            while not asked.done:
                self._take_turn(asked)
        except BaseException:
            asked.given_up = True
            raise
        return cast(R, asked.result())

    async def perform(self, operation: Operation[R]) -> R:
        """Perform an operation. Cancelled before it was begun, it is not performed."""
        asked = _Asked(operation, asyncio.get_running_loop().create_future())
        assert asked.future is not None
        self._asked.append(asked)
        try:
            self._wake_thread()
            await asked.future
        except BaseException:
            asked.given_up = True
            raise
        return cast(R, asked.result())

    def close(self) -> None:
        """Perform what async code still asks for, and let go of the connection and the thread.

        Waits for a thread that is writing. One that waits for its turn to write is refused.
        """
        with self._starting:
            self._closing = True
        if self._thread is not None:
            self._work.put(None)
            self._thread.join()
        with self._using:
            self._log.close()
            self._discard()
            self._closed = True
        # In this order: whoever asked before it could see this leaves it to us.
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
            closing = self._closing  # asked first: what is asked for before closing is performed
            while (first := self._first()) is not None:
                self._take_turn(first)

    def _first(self) -> _Asked | None:
        try:
            return self._asked[0]
        except IndexError:
            return None

    def _perform_alone(self, operation: Operation[R]) -> R:
        """The same in the main thread, where an exception of a signal handler may come at any point.

        No operation of another thread shares its transaction, so none is lost with it. Every step is inside the `try`
        that undoes it: see `holdfast.engine.uninterrupted`.
        """
        asked, waiter, turnstile = _Asked(operation), Waiter(), self._file.turnstile
        try:
            try:
                if not turnstile.enter_sync(waiter, self._file.timeout):
                    raise self._file.blocked()
                with self._using:
                    self._perform_interruptibly(asked)
            finally:
                turnstile.line.pop(waiter, None)
                turnstile.wake()
        except BaseException:
            turnstile.wake()  # the first call may have been interrupted
            raise
        return cast(R, asked.result())

    def _perform_interruptibly(self, asked: _Asked) -> None:
        try:
            if self._closed:
                asked.fail(self._refusal())
                return
            try:
                hints = self._perform_together([asked])
            except sqlite3.Error as error:
                asked.fail(self._translated(error))
                return
            asked.done = True
            if hints:
                self._send(hints)
            if self._connection is not None and self._log.wants_care(self._connection):
                self._log.care(self._connection)
        except BaseException:
            # Closed, and not rolled back: one call ends the transaction and gives the connection up.
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
            raise

    def _take_turn(self, asked: _Asked) -> None:
        """Perform what is waiting, unless another thread did it before the turn came."""
        waiter = Waiter()
        try:
            admitted = self._file.turnstile.enter_sync(waiter, self._file.timeout)
        except BaseException:
            self._file.turnstile.leave(waiter)
            raise
        if not admitted:
            self._give_up(asked)
            return
        together: list[_Asked] = []
        try:
            if not asked.done:
                with self._using:
                    self._perform_waiting(together)
        finally:
            self._file.turnstile.leave(waiter)
            # Last of all: a loop that wakes up while this thread still runs has to wait for the interpreter's lock.
            _emit(together)

    def _give_up(self, asked: _Asked) -> None:
        """The turn did not come: this one is told so, and whoever has waited as long as it."""
        before = monotonic() - self._file.timeout
        for other in list(self._asked):
            if other is asked or other.since <= before:
                try:
                    self._asked.remove(other)
                except ValueError:
                    continue  # another thread is just performing it
                other.fail(self._file.blocked())
                _emit([other])

    def _refuse_waiting(self) -> None:
        """The store was closed: nobody performs what is still asked for."""
        while True:
            try:
                asked = self._asked.popleft()
            except IndexError:
                return
            asked.fail(self._refusal())
            _emit([asked])

    def _refusal(self) -> RuntimeError:
        return RuntimeError(f"{self._file.name} was closed while this waited for its turn to write")

    def _perform_waiting(self, together: list[_Asked]) -> None:
        """Perform what is waiting, as far as it fits into `together`; who that is has to be told afterwards."""
        if self._closed:
            self._refuse_waiting()
        while self._asked and len(together) < _TOGETHER:
            asked = self._asked.popleft()
            if not asked.given_up:
                together.append(asked)
        if not together:
            return
        try:
            hints = self._perform_together(together)
        except sqlite3.Error as error:
            for asked in together:
                asked.fail(self._translated(error))
        except Exception as error:
            for asked in together:
                asked.fail(error)
        except BaseException:
            for asked in together:
                asked.fail(StoreUnavailable(self._file.name, "the thread that was writing was interrupted"))
            raise
        else:
            for asked in together:
                asked.done = True
            if hints:
                self._send(hints)
        if self._connection is not None and self._log.wants_care(self._connection):
            _emit(together)
            together.clear()
            self._log.care(self._connection)

    def _perform_together(self, together: list[_Asked]) -> Hints:
        if self._connection is None:
            self._connection = self._file.connect()
        connection = self._connection
        execute = executor(connection)
        try:
            self._file.gate.begin(connection, self._file.timeout)
            self._file.check_place()  # again: the file may have been replaced while this waited for the lock
            if len(together) == 1:
                reported = self._perform_one(connection, execute, together[0], alone=True)
            else:
                reported = Hints()
                for asked in together:
                    gather(reported, self._perform_one(connection, execute, asked, alone=False))
            if connection.in_transaction:
                run(self._emit(reported), execute)
                connection.execute("commit")
        except BaseException as error:
            if isinstance(error, sqlite3.Error) and is_busy(error):
                if connection.in_transaction:
                    connection.execute("rollback")
            else:
                self._discard()
            raise
        return reported

    def _perform_one(self, connection: sqlite3.Connection, execute: Execute, asked: _Asked, *, alone: bool) -> Hints:
        """One operation of several, and what it tells others. An error that is its own undoes it alone."""
        execution = Execution(self._clock())
        if not alone:
            connection.execute("savepoint one")
        try:
            asked.answer = run(plan(asked.operation, execution), execute)
        except Exception as error:
            if not connection.in_transaction or translate(error, self._file.name) is not None:
                raise  # the store's error is everyone's
            connection.execute("rollback" if alone else "rollback to one")
            asked.error = error
            execution.hints = _NOTHING
        if not alone:
            connection.execute("release one")
        return execution.hints

    def _translated(self, error: sqlite3.Error) -> BaseException:
        ours = translate(error, self._file.name)
        if ours is None:
            return error
        ours.__cause__ = error
        return ours

    def _discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _emit(together: list[_Asked]) -> None:
    """Wake the tasks that wait, each in its own loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for asked in together:
        if asked.future is not None:
            by_loop.setdefault(asked.future.get_loop(), []).append(asked.future)
    for loop, futures in by_loop.items():
        try:
            loop.call_soon_threadsafe(_finish, futures)
        except RuntimeError:  # the loop is closed, so nobody waits there any more
            continue


def _finish(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
