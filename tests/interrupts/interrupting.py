"""Interrupt a call at its n-th point at which CPython may run a signal handler.

A handler runs at the start of a Python function or a resumed generator, and after a call of a C function. A profile
function is called at the same points, and what it raises appears there as a handler's exception does.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

TIMEOUT: Final = 60.0
POINTS: Final = 20_000
"""More than any call has, so that a test ends."""
EVERY_POINT: Final = "HOLDFAST_EVERY_POINT" in os.environ
"""Whether to try every point. The suite tries a sample, `make interrupts` sets this variable."""


class Interrupted(BaseException):
    """The exception of the signal handler."""


def interrupt_often(call: Callable[[], object], then: Callable[[], object], *, stride: int) -> None:
    """Interrupt the call at every `stride`-th of its points, and make the next call after each interruption.

    Ends when the call has no more points: it then returned without an interruption.
    """
    call()  # the first call loads statements and scripts, which has more points than the call itself
    stride = 1 if EVERY_POINT else stride
    for point in range(1, POINTS, stride):
        complete = not interrupt(call, point)
        in_time(then, f"interrupted at point {point}")
        if complete:
            assert point > 50, "the call has too few points: the profile function does not see it"
            return
    raise AssertionError(f"the call has more than {POINTS} points")


def interrupt(call: Callable[[], object], point: int) -> bool:
    """Make the call, interrupted at this point; whether it had that many."""
    left = point

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code is not count.__code__:
            left -= 1
            if left == 0:
                raise Interrupted

    try:
        sys.setprofile(count)
        try:
            call()
        finally:
            sys.setprofile(None)
    except BaseException as error:
        if left > 0 or not _follows_from_interruption(error):
            raise
    return left <= 0


def _follows_from_interruption(error: BaseException) -> bool:
    """Whether the interruption, or the error that SQLite puts in its place, is among the causes of this error.

    An exception in SQLite's authorizer callback denies the statement: SQLite then raises an error of its own.
    """
    return (
        isinstance(error, Interrupted)
        or any(_follows_from_interruption(each) for each in (error.__cause__, error.__context__) if each is not None)
        or (isinstance(error, sqlite3.DatabaseError) and error.sqlite_errorcode == sqlite3.SQLITE_AUTH)
    )


def in_time(call: Callable[[], object], what: str) -> None:
    """Make a call in another thread, which must not hang or fail."""
    outcome: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            outcome.append(error)
        else:
            outcome.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    assert outcome, f"{what}: the next call hangs"
    assert outcome[0] is None, f"{what}: the next call fails: {outcome[0]!r}"
