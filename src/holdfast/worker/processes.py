"""Child processes for CPU-bound plain handlers: one per running handler, reused, and killed if an abort is ignored.

They are spawned, not forked: a forked copy of a process with open connections and threads does not work. A child that
crashes (a segfault, `os._exit`, the out-of-memory killer) ends only one attempt of one job.
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
from holdfast.worker.held_claims import HeldClaim
from holdfast.worker.process_child import serve
from holdfast.worker.process_messages import Abort, HandlerAborted, HandlerRaised, HandlerRequest, Noted, Reply
from holdfast.worker.process_replies import ChildExited, value_of
from holdfast.worker.running_job import JobInChild
from holdfast.worker.steps.child_steps import StepReply, StepRequest
from holdfast.worker.threads import Threads

if TYPE_CHECKING:
    # Imported when the first child is started: most workers start none.
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

AnswerStep = Callable[[StepRequest], StepReply]

ABORT_GRACE = 2.0
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
        """Check that another process can import this type. Raises a TypeError that states why it cannot."""
        function = job_type.function
        assert function is not None
        try:
            self._references[job_type.name] = (function.__module__, pickle.dumps(job_type))
        except Exception as error:
            raise TypeError(
                f'{job_type.name}: executor="process" needs a type that another process can import, declared in a '
                f"module under its function's own name: {error}"
            ) from error

    async def call(
        self,
        held_claim: HeldClaim,
        notes: dict[str, bytes],
        contexts: bytes | None = None,
        *,
        attempt: bytes | None = None,
        answer_step: AnswerStep | None = None,
    ) -> Any:
        """Run a handler in a child. Returns its value or raises its error. Adds the data of plugins to `notes`.

        After an abort the child receives the reason, and is killed if the handler does not end in time. When this
        call returns, the handler does not run any more. `answer_step` answers the requests of its steps, in a thread.
        """
        child = self._take()
        record = held_claim.record
        job = JobInChild(record.id, record.chain_id, record.type, record.attempt)
        request = HandlerRequest(child.begin(), *self._references[record.type], record.input, job, contexts, attempt)
        try:
            answer = self._threads.submit(partial(child.ask, request, answer_step))
        except BaseException:  # no thread could be started
            self._give_back(child)
            raise
        cancelled = await _wait_until_done(answer, lambda: child.abort(held_claim.signal.reason or "cancelled"))
        notes.update(child.notes)
        self._give_back(child)
        reply = answer.result().value()
        if isinstance(reply, HandlerAborted) or (isinstance(reply, ChildExited) and cancelled):
            raise asyncio.CancelledError
        return value_of(reply, held_claim.type)

    def close(self) -> None:
        """End all children. Called after all attempts have ended."""
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
            # A process that exits without close() would otherwise wait for its children forever.
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
    """One child process and the pipe to it. `ask` blocks a thread; any other thread may call `abort`."""

    def __init__(self, memory_limit: int | None) -> None:
        from multiprocessing import get_context

        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._crashes, their_crashes = context.Pipe(duplex=False)
        self._sending = threading.Lock()
        self._end_lock = threading.Lock()
        """Held while a call ends and while the child is killed, so that an abort never kills the next call."""
        self._number = 0
        self._ended = threading.Event()
        """Set when the current call has ended."""
        self._aborting = False
        self._unusable = False
        # Not daemon=True: a handler in a daemon process could not use multiprocessing.
        self._process: SpawnProcess = context.Process(
            target=serve, args=(theirs, their_crashes, os.getpid(), memory_limit), name="holdfast-handler"
        )
        self._process.start()
        theirs.close()
        their_crashes.close()

    @property
    def usable(self) -> bool:
        return not self._unusable and self._process.is_alive()

    def begin(self) -> int:
        """Begin a call and return its number. From now on it can be aborted."""
        self._number += 1
        self.notes: dict[str, bytes] = {}
        self._ended = threading.Event()
        self._aborting = False
        return self._number

    def ask(self, request: HandlerRequest, answer_step: AnswerStep | None = None) -> Reply | ChildExited:
        """Send a request, and wait for the reply or for the exit of the child. Meanwhile, answer its steps."""
        from multiprocessing.connection import wait

        try:
            with self._sending:
                if self._aborting:  # aborted before this thread ran
                    return HandlerAborted()
                self._connection.send(request)
            while True:
                wait([self._connection, self._process.sentinel])
                reply = self._received() if self._connection.poll() else self._exited()
                if not isinstance(reply, StepRequest):
                    break
                assert answer_step is not None
                answer = answer_step(reply)
                with self._sending:
                    self._connection.send(answer)
        except (OSError, EOFError):
            reply = self._exited()
        finally:
            with self._end_lock:
                self._ended.set()
        # A process that ran out of memory may be damaged: do not reuse it.
        if isinstance(reply, ChildExited) or (isinstance(reply, HandlerRaised) and reply.out_of_memory):
            self._unusable = True
        return reply

    def abort(self, reason: AbortReason) -> None:
        """Send the abort, and kill the child if the handler continues. Returns without waiting."""
        if self._aborting:
            return
        self._aborting = True
        # A separate thread, not a handler thread or the event loop: sending blocks if the child does not read.
        aborting = threading.Thread(
            target=self._abort_then_kill,
            args=(Abort(self._number, reason), self._ended),
            name="holdfast-abort",
            daemon=True,
        )
        try:
            aborting.start()
        except RuntimeError:  # no thread could be started, and no other code would end the handler
            self._kill(self._ended)

    def _abort_then_kill(self, abort: Abort, ended: threading.Event) -> None:
        if self._sending.acquire(timeout=ABORT_GRACE):
            try:
                self._connection.send(abort)
            except OSError:
                return  # the child has exited
            finally:
                self._sending.release()
        if not ended.wait(ABORT_GRACE):
            self._kill(ended)

    def _kill(self, ended: threading.Event) -> None:
        with self._end_lock:
            if not ended.is_set():
                self._unusable = True
                self._process.kill()

    def close(self) -> None:
        """End the child."""
        self._connection.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._process.close()
        self._crashes.close()

    def _received(self) -> Reply | StepRequest:
        received = cast("Reply | Noted | StepRequest", self._connection.recv())
        if isinstance(received, Noted):
            self.notes = received.notes
            return received.reply
        return received

    def _exited(self) -> ChildExited:
        self._process.join()
        return ChildExited(self._process.exitcode, _read_all(self._crashes))


async def _wait_until_done(answer: asyncio.Future[Any], abort: Callable[[], None]) -> bool:
    """Wait for the answer. A cancellation aborts the handler. Returns whether this task was cancelled."""
    cancelled = False
    while not answer.done():
        try:
            await asyncio.wait([answer])
        except asyncio.CancelledError:
            cancelled = True
            abort()
    return cancelled


def _read_all(pipe: Connection) -> str:
    """The output of the child's fault handler."""
    try:
        if not pipe.poll():
            return ""
        return os.read(pipe.fileno(), CRASH_BYTES).decode(errors="replace")
    except OSError:
        return ""
