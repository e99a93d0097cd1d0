"""The child's side of the process executor: runs one handler at a time in its main thread.

Requests and aborts come over a pipe, read by a thread. An abort is raised in the handler as `Aborted`, so that its
`finally` blocks run; a handler that takes no notice is killed by its worker soon after. When the pipe closes, the
worker is gone and so is the right to write: the process ends at once.
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
"""None where the system has no such signal: an aborted handler is then killed without a word."""


class Request(NamedTuple):
    """Call the handler of this type on this stored input."""

    number: int
    module: str
    """Where the handler is attached: importing the type alone may bring its declaration only."""
    type: bytes
    input: bytes


class Abort(NamedTuple):
    """End the call of this number."""

    number: int
    reason: str


class Returned(NamedTuple):
    """The handler's value, in the form that is stored."""

    output: bytes


class Continued(NamedTuple):
    """The handler returned the chain's next step."""

    bound: Bound[Any]


class Broke(NamedTuple):
    """The handler raised."""

    error: bytes | None
    """Pickled, where it can be given back."""
    name: str
    message: str
    trace: str
    out_of_memory: bool


class Unreadable(NamedTuple):
    """The input does not match the signature in this process, whose code may be older or newer than the worker's."""

    message: str


class Postponed(NamedTuple):
    """The handler raised Reschedule. `cause` is the error it was raised from, if any."""

    delay: int
    at: int | None
    cause: Broke | None


class WasAborted(NamedTuple):
    """The handler ended because of an abort."""


Reply = Returned | Continued | Unreadable | Broke | Postponed | WasAborted


class Aborted(BaseException):
    """Raised in a handler whose attempt is over: timeout, cancelled, shutdown and the other abort reasons.

    Not an Exception, so that `except Exception` does not swallow it. Clean up quickly: what goes on is killed.
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
    """Ctrl-C and a service manager's SIGTERM reach every process of a group; ours is told by its worker.

    Not SIG_IGN, which programs that a handler starts would inherit: nobody could terminate them any more. A copy that
    a handler forks, for a pool, gets the usual actions back, and misses no signal that is sent to it meanwhile.
    """
    numbers = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
    for number in numbers:
        signal.signal(number, _overhear)
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
            if signal.getsignal(number) is _overhear:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        unblock()

    os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=give_back)


def _overhear(number: int, frame: FrameType | None) -> None:
    """The worker hears it too."""


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
                # Deaf, it would be of no more use: its worker sees it end, and starts another.
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
                self._interrupt(0, None)  # the abort may have come while nothing ran yet
                return self._call(request)
            finally:
                self._running = None
        except Aborted:
            return WasAborted()
        except Reschedule as error:
            cause = None if error.__cause__ is None else describe(error.__cause__)
            return Postponed(error.delay, error.at, cause)
        except BaseException as error:  # SystemExit too: a handler does not end its process that way
            return describe(error)

    def _call(self, request: Request) -> Reply:
        importlib.import_module(request.module)
        job_type: AnyJobType = pickle.loads(request.type)  # noqa: S301 - written by our own worker
        try:
            arguments = job_type.arguments(request.input)
        except PayloadRefused as refusal:
            return Unreadable(str(refusal))
        value = job_type.call(None, arguments)
        if isinstance(value, Bound):
            pickle.dumps(value)
            return Continued(value)  # pyright: ignore[reportUnknownArgumentType]
        return Returned(job_type.encode_output(value))


def describe(error: BaseException) -> Broke:
    """An error in a form that can be sent to the worker. Never raises."""
    try:
        # Away from its traceback and causes: these travel as text.
        pickled = pickle.dumps(error)
        pickle.loads(pickled)  # noqa: S301 - what we just wrote
    except BaseException:
        pickled = None
    try:
        trace = "".join(traceback.format_exception(error))
    except BaseException:
        trace = ""
    return Broke(pickled, type(error).__qualname__, message_of(error), trace, isinstance(error, MemoryError))
