"""Interrupt a call at its n-th point at which CPython may run a signal handler.

A handler runs at the start of a Python function or a resumed generator, and after a call of a C function. A profile
function is called at the same points, and what it raises appears there as a handler's exception does.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from holdfast.errors import HoldfastError

PATIENCE: Final = 20.0
POINTS: Final = 6000
"""More than any call has, so that a test ends."""


class Interrupted(BaseException):
    """What the signal handler raises."""


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
    except (Interrupted, HoldfastError, sqlite3.Error):
        # SQLite replaces an exception that comes inside its authorizer callback by an error of its own.
        return True
    return left <= 0


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
    thread.join(PATIENCE)
    assert outcome, f"{what}: the next call hangs"
    assert outcome[0] is None, f"{what}: the next call fails: {outcome[0]!r}"
