"""The child's side of the process executor: runs one handler at a time in its main thread.

A thread reads requests and aborts from a pipe. An abort is raised in the handler as `Aborted`, so that its `finally`
blocks run. The worker kills a handler that continues. A closed pipe means that the worker has ended, and with it the
right to write: the process exits at once.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
import traceback
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.core.failure import message_of
from holdfast.core.lifecycle import Reschedule
from holdfast.errors import PayloadRefused
from holdfast.registry.job_type import AnyJobType, Bound
from holdfast.worker.parent_death import signal_when_parent_dies

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ABORT_SIGNAL: signal.Signals | None = getattr(signal, "SIGUSR1", None)
"""None where the system has no such signal: an aborted handler is then killed without a chance to clean up."""


class Request(NamedTuple):
    """Call the handler of this type on this stored input."""

    number: int
    module: str
    """The module that attaches the handler. Importing the type alone may import only its declaration."""
    type: bytes
    input: bytes


class Abort(NamedTuple):
    """End the call of this number."""

    number: int
    reason: str


class Returned(NamedTuple):
    """The handler returned a value, encoded as it is stored."""

    output: bytes


class Continued(NamedTuple):
    """The handler returned the chain's next job."""

    bound: Bound[Any]


class HandlerRaised(NamedTuple):
    """The handler raised."""

    error: bytes | None
    """Pickled, if it can be unpickled again."""
    name: str
    message: str
    trace: str
    out_of_memory: bool


class InputRefused(NamedTuple):
    """The input does not match the signature in this process, whose code may be older or newer than the worker's."""

    message: str


class HandlerRescheduled(NamedTuple):
    """The handler raised Reschedule. `cause` is the error that it was raised from, if any."""

    delay: int
    at: int | None
    cause: HandlerRaised | None


class HandlerAborted(NamedTuple):
    """The handler ended because of an abort."""


Reply = Returned | Continued | InputRefused | HandlerRaised | HandlerRescheduled | HandlerAborted


class Aborted(BaseException):
    """Raised in a handler whose attempt was aborted: timeout, cancelled, shutdown and the other abort reasons.

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

    Not with SIG_IGN: programs that a handler starts would inherit it, and could not be terminated. A child that a
    handler forks, for a pool, gets the default actions back. It misses no signal that arrives during the fork.
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
        self._requests: SimpleQueue[Request] = SimpleQueue()
        self._running: int | None = None
        self._abort: Abort | None = None
        self._main = threading.get_ident()

    def run(self) -> None:
        if ABORT_SIGNAL is not None:
            signal.signal(ABORT_SIGNAL, self._interrupt)
        threading.Thread(target=self._listen, name="holdfast-listener", daemon=True).start()
        while True:
            request = self._requests.get()
            reply = self._reply(request)
            self._connection.send(reply)

    def _listen(self) -> None:
        while True:
            try:
                message: Request | Abort = self._connection.recv()
            except EOFError:
                os._exit(0)
            except BaseException:
                # Without this thread the process could not receive requests. The worker notices the exit and starts
                # another child.
                os._exit(1)
            if isinstance(message, Request):
                self._requests.put(message)
            elif ABORT_SIGNAL is not None:
                self._abort = message
                signal.pthread_kill(self._main, ABORT_SIGNAL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        abort = self._abort
        if abort is not None and abort.number == self._running:
            self._running = None
            raise Aborted(abort.reason)

    def _reply(self, request: Request) -> Reply:
        try:
            try:
                self._running = request.number
                self._interrupt(0, None)  # the abort may have arrived before the handler began
                return self._call(request)
            finally:
                self._running = None
        except Aborted:
            return HandlerAborted()
        except Reschedule as error:
            cause = None if error.__cause__ is None else describe(error.__cause__)
            return HandlerRescheduled(error.delay, error.at, cause)
        except BaseException as error:  # SystemExit too: a handler must not end its process
            return describe(error)

    def _call(self, request: Request) -> Reply:
        importlib.import_module(request.module)
        job_type: AnyJobType = pickle.loads(request.type)  # noqa: S301 - written by our own worker
        try:
            arguments = job_type.arguments(request.input)
        except PayloadRefused as refusal:
            return InputRefused(str(refusal))
        value = job_type.call(None, arguments)
        if isinstance(value, Bound):
            pickle.dumps(value)
            return Continued(value)  # pyright: ignore[reportUnknownArgumentType]
        return Returned(job_type.encode_output(value))


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
