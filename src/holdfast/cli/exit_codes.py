"""Exit codes, which scripts may rely on."""

from __future__ import annotations

from enum import IntEnum

from holdfast.errors import (
    ChainNotFound,
    HoldfastError,
    JobNotFound,
    LimitNotFound,
    MissingExtra,
    PayloadRefused,
    ScheduleNotFound,
    StepNotFound,
    StoreUnavailable,
    UnknownJobType,
    WaitTimeout,
    WorkerNotFound,
    WrongBlockers,
)


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    TIMED_OUT = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


MEANINGS = {
    Exit.DONE: "done",
    Exit.FAILED: "the chain failed or was cancelled, or the operation was refused",
    Exit.USAGE: "wrong usage or configuration",
    Exit.NOT_FOUND: "no such chain, job, limit, schedule, step or worker",
    Exit.TIMED_OUT: "timed out; the chain continues",
    Exit.UNREACHABLE: "the store cannot be reached",
}


class Mistake(Exception):
    """A wrong argument, setting or environment. The message says how to correct it."""


def exit_of(error: HoldfastError | Mistake) -> Exit:
    """The exit code for an error."""
    match error:
        case StoreUnavailable():
            return Exit.UNREACHABLE
        case ChainNotFound() | JobNotFound() | LimitNotFound() | ScheduleNotFound() | StepNotFound() | WorkerNotFound():
            return Exit.NOT_FOUND
        case WaitTimeout():
            return Exit.TIMED_OUT
        case Mistake() | MissingExtra() | UnknownJobType() | PayloadRefused() | WrongBlockers():
            return Exit.USAGE
        case _:
            return Exit.FAILED
