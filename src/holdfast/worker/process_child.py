"""The child's side of the process executor: runs one handler at a time in its main thread.

A thread reads requests and aborts from a pipe. An abort is raised in the handler as `Aborted`, so that its `finally`
blocks run. If the handler continues, the worker kills the process. A closed pipe means that the worker has ended. Then
this process must not write any more, so it exits at once.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
import traceback
from contextlib import ExitStack
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any

from holdfast.core.failure import message_of
from holdfast.core.lifecycle import Reschedule
from holdfast.engine.audit_user import act_as_handler
from holdfast.errors import PayloadRefused
from holdfast.registry.bound import Bound
from holdfast.registry.job_type import AnyJobType
from holdfast.worker.parent_death import signal_when_parent_dies
from holdfast.worker.process_messages import (
    Abort,
    HandlerAborted,
    HandlerContinued,
    HandlerRaised,
    HandlerRequest,
    HandlerRescheduled,
    HandlerReturned,
    InputRefused,
    Noted,
    Reply,
)
from holdfast.worker.running_job import child_notes, running_job
from holdfast.worker.steps.child_steps import AttemptInChild, ChildAttempt, StepReply, StepRequest
from holdfast.worker.steps.suspended import Suspended

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ABORT_SIGNAL: signal.Signals | None = getattr(signal, "SIGUSR1", None)
"""None where the system has no such signal: an aborted handler is then killed without a chance to clean up."""


class Aborted(BaseException):
    """Raised in a handler whose attempt was aborted, for any abort reason, such as a timeout or a shutdown.

    Not an Exception, so that `except Exception` does not catch it. Clean up quickly: the process is killed soon.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def serve(connection: Connection, crashes: Connection, parent: int, memory_limit: int | None) -> None:
    """Run handlers until the worker closes the pipe, or kills this process."""
    import faulthandler

    _leave_stopping_to_the_worker()
    if hasattr(signal, "SIGKILL"):
        signal_when_parent_dies(signal.SIGKILL, parent=parent)
    faulthandler.enable(file=crashes.fileno())
    if memory_limit is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))
    _Child(connection).run()


def _leave_stopping_to_the_worker() -> None:
    """Ignore the signals that reach the whole process group, such as Ctrl-C: the worker decides when to stop.

    SIG_IGN is not used: programs that a handler starts would inherit it, and could not be terminated. A child that a
    handler forks, for example for a process pool, gets the default actions back. It misses no signal that arrives
    during the fork.
    """
    numbers = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
    for number in numbers:
        signal.signal(number, _ignore_signal)
        if sys.platform != "win32":
            signal.siginterrupt(number, False)
    if sys.platform == "win32":
        return
    forking = threading.local()

    def block() -> None:
        forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, forking.mask)

    def give_back() -> None:
        for number in numbers:
            if signal.getsignal(number) is _ignore_signal:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        unblock()

    os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=give_back)


def _ignore_signal(number: int, frame: FrameType | None) -> None:
    """Do nothing: the worker receives the signal too."""


class _Child:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._requests: SimpleQueue[HandlerRequest] = SimpleQueue()
        self._running: int | None = None
        self._abort: Abort | None = None
        self._attempt: ChildAttempt | None = None
        self._sending = False
        """True while a step sends a request: an abort must not leave half of the request in the pipe."""
        self._main = threading.get_ident()

    def run(self) -> None:
        act_as_handler()
        if ABORT_SIGNAL is not None:
            signal.signal(ABORT_SIGNAL, self._interrupt)
        threading.Thread(target=self._listen, name="holdfast-listener", daemon=True).start()
        while True:
            request = self._requests.get()
            reply = self._reply(request)
            self._connection.send(Noted(reply, child_notes) if child_notes else reply)
            child_notes.clear()

    def _listen(self) -> None:
        while True:
            try:
                message: HandlerRequest | Abort | StepReply = self._connection.recv()
            except EOFError:
                os._exit(0)
            except BaseException:
                # Without this thread the process could not receive requests. The worker notices the exit and starts
                # another child.
                os._exit(1)
            if isinstance(message, HandlerRequest):
                self._requests.put(message)
            elif isinstance(message, StepReply):
                if self._attempt is not None:
                    self._attempt.steps.replies.put(message)
            elif ABORT_SIGNAL is not None:
                self._abort = message
                signal.pthread_kill(self._main, ABORT_SIGNAL)

    def _send_step(self, request: StepRequest) -> None:
        self._sending = True
        try:
            self._connection.send(request)
        finally:
            self._sending = False
        if self._abort is not None and ABORT_SIGNAL is not None:
            signal.pthread_kill(self._main, ABORT_SIGNAL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        abort = self._abort
        if abort is not None and abort.number == self._running and not self._sending:
            self._running = None
            raise Aborted(abort.reason)

    def _reply(self, request: HandlerRequest) -> Reply:
        try:
            try:
                self._running = request.number
                self._interrupt(0, None)  # the abort may have arrived before the handler began
                return self._call(request)
            finally:
                self._running = None
        except Aborted:
            return HandlerAborted()
        except Suspended as error:
            suspension = None if self._attempt is None else self._attempt.suspension(error)
            return describe(error) if suspension is None else suspension
        except Reschedule as error:
            cause = None if error.__cause__ is None else describe(error.__cause__)
            return HandlerRescheduled(error.delay, error.at, cause)
        except BaseException as error:  # SystemExit too: a handler must not end its process
            return describe(error)

    def _call(self, request: HandlerRequest) -> Reply:
        self._attempt = None
        # Unpickled before the application is imported: a plugin may have to prepare the process for the import.
        contexts: Any = () if request.contexts is None else pickle.loads(request.contexts)  # noqa: S301 - our own worker
        importlib.import_module(request.module)
        job_type: AnyJobType = pickle.loads(request.type)  # noqa: S301 - written by our own worker
        try:
            arguments = job_type.arguments(request.input)
        except PayloadRefused as refusal:
            return InputRefused(str(refusal))
        with ExitStack() as stack:
            stack.callback(running_job.reset, running_job.set(request.job))
            for enter in contexts:
                stack.enter_context(enter())
            if request.attempt is not None:
                about: AttemptInChild = pickle.loads(request.attempt)  # noqa: S301 - as above
                self._attempt = ChildAttempt(about, _Decoder(job_type), self._send_step)
                self._attempt.begin()
                stack.enter_context(self._attempt.ending())
            value = job_type.call(self._attempt, arguments)
        if isinstance(value, Bound):
            pickle.dumps(value)
            return HandlerContinued(value)  # pyright: ignore[reportUnknownArgumentType]
        return HandlerReturned(job_type.encode_output(value))


class _Decoder:
    """Decodes the payloads of one job type."""

    def __init__(self, job_type: AnyJobType) -> None:
        self._type = job_type

    def input(self, type: str, stored: bytes) -> Any:
        return self._type.decode_input(stored)

    def output(self, type: str, stored: bytes) -> Any:
        return self._type.decode_output(stored)


def describe(error: BaseException) -> HandlerRaised:
    """An error in a form that can be sent over the pipe. Never raises."""
    try:
        # Pickle drops the traceback and the causes. They are sent as text.
        pickled = pickle.dumps(error)
        pickle.loads(pickled)  # noqa: S301 - what we just wrote
    except BaseException:
        pickled = None
    try:
        trace = "".join(traceback.format_exception(error))
    except BaseException:
        trace = ""
    return HandlerRaised(pickled, type(error).__qualname__, message_of(error), trace, isinstance(error, MemoryError))
