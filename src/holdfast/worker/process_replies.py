"""The result of a call in a child process: a value, an error with its traceback, or the exit of the child."""

from __future__ import annotations

import pickle
import signal
from typing import Any, cast

from holdfast.core.lifecycle import Reschedule
from holdfast.core.steps import Wait
from holdfast.errors import PayloadRefused
from holdfast.registry.jobs import AnyJobType
from holdfast.worker.mismatch import InputMismatch
from holdfast.worker.process_messages import (
    HandlerContinued,
    HandlerRaised,
    HandlerRescheduled,
    HandlerReturned,
    InputRefused,
    Reply,
)
from holdfast.worker.steps.child_steps import HandlerSuspended
from holdfast.worker.steps.suspended import Suspended


class ProcessDied(Exception):
    """The child process ended while the handler ran: it crashed or was killed."""


class ChildError(Exception):
    """An error of a handler in a child process that could not be pickled. Its class name and message are kept."""


class SuspendedInChild(Suspended):
    """The handler in a child process is suspended."""

    def __init__(self, waits: tuple[Wait, ...]) -> None:
        self.waits = waits
        super().__init__()


class ChildTraceback(Exception):
    """The traceback of an error, as text from the process that raised it."""

    def __init__(self, trace: str) -> None:
        self.trace = trace
        super().__init__(f"\n{trace.rstrip()}")


class ChildExited:
    """The result instead of a reply, if the child exited."""

    def __init__(self, code: int | None, trace: str) -> None:
        self.code = code
        self.trace = trace


def value_of(reply: Reply | ChildExited, job_type: AnyJobType) -> Any:
    """Return the handler's value, or raise its error or ProcessDied."""
    match reply:
        case HandlerReturned(output):
            return job_type.decode_output(output)
        case HandlerContinued(bound):
            return bound
        case HandlerRescheduled(delay, at, cause):
            postponed = Reschedule(delay=0)
            postponed.delay, postponed.at = delay, at
            raise postponed from None if cause is None else _error_of(cause)
        case HandlerSuspended(waits):
            raise SuspendedInChild(waits)
        case InputRefused(message):
            raise InputMismatch(PayloadRefused(message))
        case HandlerRaised():
            raise _error_of(reply) from ChildTraceback(reply.trace)
        case ChildExited():
            error = ProcessDied(f"the process that ran it {_end(reply.code)}")
            raise error from (ChildTraceback(reply.trace) if reply.trace else None)
        case _:
            raise AssertionError(f"not a reply: {reply!r}")


def _error_of(broke: HandlerRaised) -> BaseException:
    if broke.error is not None:
        try:
            error: BaseException = pickle.loads(broke.error)  # noqa: S301 - written by our own child
        except BaseException:  # raised by the class of the error while it was unpickled
            return _named(broke)
        return error
    return _named(broke)


def _named(broke: HandlerRaised) -> ChildError:
    # The job's report shows the class name, so use the name of the original class.
    return cast("ChildError", type(broke.name, (ChildError,), {})(broke.message))


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"
    return f"ended with exit code {code}"
