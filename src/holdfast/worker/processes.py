"""Child processes for plain handlers that compute: as many as are busy at once, reused, killed when they must be.

They are spawned, never forked: a copy of a process with live connections and threads is a broken one. A child that
dies (a segfault, `os._exit`, the kernel's out-of-memory killer) costs one attempt of one job.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import pickle
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from holdfast.registry.jobs import AnyJobType
from holdfast.worker.abort_signal import AbortReason
from holdfast.worker.held_claims import Holding
from holdfast.worker.process_child import Abort, Broke, Reply, Request, WasAborted, serve
from holdfast.worker.process_replies import Death, value_of
from holdfast.worker.threads import Threads

if TYPE_CHECKING:
    # Imported for real when the first child is started: most workers have none.
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

PATIENCE = 2.0
"""Seconds that an aborted handler has to clean up before its process is killed."""
CRASH_BYTES = 1 << 16


class Processes:
    """The children of one worker."""

    def __init__(self, threads: Threads, *, memory_limit: int | None = None) -> None:
        self._threads = threads
        self._memory_limit = memory_limit
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()
        self._references: dict[str, tuple[str, bytes]] = {}

    def check(self, job_type: AnyJobType) -> None:
        """Make sure that another process can find this type. TypeError says why it cannot."""
        function = job_type.function
        assert function is not None
        try:
            self._references[job_type.name] = (function.__module__, pickle.dumps(job_type))
        except Exception as error:
            raise TypeError(
                f'{job_type.name}: executor="process" needs a type that another process can import, declared in a '
                f"module under its function's own name: {error}"
            ) from error

    async def call(self, holding: Holding) -> Any:
        """Run a handler in a child and answer its value, or raise its error.

        When the attempt is aborted the child hears why, and what has not ended after a moment is killed: when this
        returns nothing of the handler runs any more.
        """
        child = self._take()
        request = Request(child.begin(), *self._references[holding.type.name], holding.record.input)
        try:
            answer = self._threads.submit(partial(child.ask, request))
        except BaseException:  # no thread to be had
            self._give_back(child)
            raise
        cancelled = await _see_through(answer, lambda: child.abort(holding.signal.reason or "cancelled"))
        self._give_back(child)
        reply = answer.result().value()
        if isinstance(reply, WasAborted) or (isinstance(reply, Death) and cancelled):
            raise asyncio.CancelledError
        return value_of(reply, holding.type)

    def close(self) -> None:
        """End every child: the worker has seen all attempts to their end."""
        for child in list(self._all):
            child.close()
        self._all.clear()
        self._idle.clear()
        atexit.unregister(self.close)

    def _take(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.usable:
                return child
            self._forget(child)
        if not self._all:
            # A process that ends in disorder would wait for its children before it ends, for ever.
            atexit.unregister(self.close)
            atexit.register(self.close)
        child = _Child(self._memory_limit)
        self._all.add(child)
        return child

    def _give_back(self, child: _Child) -> None:
        if child.usable and child in self._all:
            self._idle.append(child)
        else:
            self._forget(child)

    def _forget(self, child: _Child) -> None:
        self._all.discard(child)
        child.close()


class _Child:
    """One child process and the pipe to it. `ask` blocks, in a thread; `abort` comes from any other."""

    def __init__(self, memory_limit: int | None) -> None:
        from multiprocessing import get_context

        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._crashes, their_crashes = context.Pipe(duplex=False)
        self._sending = threading.Lock()
        self._fate = threading.Lock()
        """Held to end a call, and to kill the child over it: the call that it goes on to must not pay for it."""
        self._number = 0
        self._ended = threading.Event()
        """Set when the call that runs has ended."""
        self._aborting = False
        self._worn = False
        # Not daemon=True: that forbids handlers to use multiprocessing themselves.
        self._process: SpawnProcess = context.Process(
            target=serve, args=(theirs, their_crashes, os.getpid(), memory_limit), name="holdfast-handler"
        )
        self._process.start()
        theirs.close()
        their_crashes.close()

    @property
    def usable(self) -> bool:
        return not self._worn and self._process.is_alive()

    def begin(self) -> int:
        """Get ready for a call; answers its number. From now on it can be aborted."""
        self._number += 1
        self._ended = threading.Event()
        self._aborting = False
        return self._number

    def ask(self, request: Request) -> Reply | Death:
        """Have a handler called, and wait for its end or that of the child."""
        from multiprocessing.connection import wait

        try:
            with self._sending:
                if self._aborting:  # before a thread was there to ask
                    return WasAborted()
                self._connection.send(request)
            wait([self._connection, self._process.sentinel])
            reply = cast("Reply", self._connection.recv()) if self._connection.poll() else self._death()
        except (OSError, EOFError):
            reply = self._death()
        finally:
            with self._fate:
                self._ended.set()
        # After running out of memory a process is not what it was.
        if isinstance(reply, Death) or (isinstance(reply, Broke) and reply.out_of_memory):
            self._worn = True
        return reply

    def abort(self, reason: AbortReason) -> None:
        """Tell the handler that its attempt is over, and kill it if it goes on. Does not wait for either."""
        if self._aborting:
            return
        self._aborting = True
        # Not the handler's own thread pool, which may be at its limit, nor the loop: a frozen child does not read.
        seeing_out = threading.Thread(
            target=self._see_out, args=(Abort(self._number, reason), self._ended), name="holdfast-abort", daemon=True
        )
        try:
            seeing_out.start()
        except RuntimeError:  # the system has no thread to give, and nobody else would end it
            self._kill(self._ended)

    def _see_out(self, abort: Abort, ended: threading.Event) -> None:
        if self._sending.acquire(timeout=PATIENCE):
            try:
                self._connection.send(abort)
            except OSError:
                return  # it ended by itself
            finally:
                self._sending.release()
        if not ended.wait(PATIENCE):
            self._kill(ended)

    def _kill(self, ended: threading.Event) -> None:
        with self._fate:
            if not ended.is_set():
                self._worn = True
                self._process.kill()

    def close(self) -> None:
        """End the child."""
        self._connection.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._process.close()
        self._crashes.close()

    def _death(self) -> Death:
        self._process.join()
        return Death(self._process.exitcode, _read_all(self._crashes))


async def _see_through(answer: asyncio.Future[Any], abort: Callable[[], None]) -> bool:
    """Wait for the answer. Being cancelled meanwhile aborts the handler; tells whether that happened."""
    cancelled = False
    while not answer.done():
        try:
            await asyncio.wait([answer])
        except asyncio.CancelledError:
            cancelled = True
            abort()
    return cancelled


def _read_all(pipe: Connection) -> str:
    """What the child's fault handler wrote before it died."""
    try:
        if not pipe.poll():
            return ""
        return os.read(pipe.fileno(), CRASH_BYTES).decode(errors="replace")
    except OSError:
        return ""
