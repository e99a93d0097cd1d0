"""Exit codes, which scripts may rely on."""

from __future__ import annotations

from enum import IntEnum

from holdfast.errors import (
    ChainNotFound,
    HoldfastError,
    JobNotFound,
    MissingExtra,
    PayloadRefused,
    StoreUnavailable,
    UnknownJobType,
    WaitTimeout,
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
    Exit.FAILED: "the chain failed or was cancelled, or what was asked is refused",
    Exit.USAGE: "wrong usage or configuration",
    Exit.NOT_FOUND: "no such chain or job",
    Exit.TIMED_OUT: "timed out; the chain goes on",
    Exit.UNREACHABLE: "the store cannot be reached",
}


class Mistake(Exception):
    """A wrong argument, setting or environment. The message says how to correct it."""


def exit_of(error: HoldfastError | Mistake) -> Exit:
    """The exit code for an error."""
    match error:
        case StoreUnavailable():
            return Exit.UNREACHABLE
        case ChainNotFound() | JobNotFound():
            return Exit.NOT_FOUND
        case WaitTimeout():
            return Exit.TIMED_OUT
        case Mistake() | MissingExtra() | UnknownJobType() | PayloadRefused():
            return Exit.USAGE
        case _:
            return Exit.FAILED
