"""What came of a call in another process: a value, an error with the place where it was raised, or a death."""

from __future__ import annotations

import pickle
import signal
from typing import Any, cast

from holdfast.core.lifecycle import Reschedule
from holdfast.errors import PayloadRefused
from holdfast.registry.jobs import AnyJobType
from holdfast.worker.mismatch import InputMismatch
from holdfast.worker.process_child import Broke, Continued, Postponed, Reply, Returned, Unreadable


class ProcessDied(Exception):
    """The process that ran the handler ended in the middle of it: a crash, or somebody killed it."""


class ChildError(Exception):
    """An error of a handler in another process that could not be brought over as it was. Its name and text could."""


class ChildTraceback(Exception):
    """Where an error was raised, in the process that raised it."""

    def __init__(self, trace: str) -> None:
        self.trace = trace
        super().__init__(f"\n{trace.rstrip()}")


class Death:
    """Instead of a reply: the child ended."""

    def __init__(self, code: int | None, trace: str) -> None:
        self.code = code
        self.trace = trace


def value_of(reply: Reply | Death, job_type: AnyJobType) -> Any:
    """The value that a handler returned; what it raised, or that its process died, is raised."""
    match reply:
        case Returned(output):
            return job_type.decode_output(output)
        case Continued(bound):
            return bound
        case Postponed(delay, at, cause):
            postponed = Reschedule(delay=0)
            postponed.delay, postponed.at = delay, at
            raise postponed from None if cause is None else _error_of(cause)
        case Unreadable(message):
            raise InputMismatch(PayloadRefused(message))
        case Broke():
            raise _error_of(reply) from ChildTraceback(reply.trace)
        case Death():
            error = ProcessDied(f"the process that ran it {_end(reply.code)}")
            raise error from (ChildTraceback(reply.trace) if reply.trace else None)
        case _:
            raise AssertionError(f"not a reply: {reply!r}")


def _error_of(broke: Broke) -> BaseException:
    if broke.error is not None:
        try:
            error: BaseException = pickle.loads(broke.error)  # noqa: S301 - written by our own child
        except BaseException:  # the error's own class raised it
            return _named(broke)
        return error
    return _named(broke)


def _named(broke: Broke) -> ChildError:
    # The report shows the name of the class: that of the real error says more than ours.
    return cast("ChildError", type(broke.name, (ChildError,), {})(broke.message))


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"
    return f"ended with exit code {code}"
