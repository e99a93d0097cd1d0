"""Numbers of open files, which the system gives to others as soon as they are free."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def under(number: int, descriptor: int) -> Generator[None]:
    """Have this open file be under that number, too: one that was closed, and that somebody may still use."""
    if number == descriptor:
        yield
        return
    os.dup2(descriptor, number)
    try:
        yield
    finally:
        os.close(number)
