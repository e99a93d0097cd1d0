"""File descriptors: the system assigns a closed number to the next file that is opened."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def under(number: int, descriptor: int) -> Generator[None]:
    """Duplicate an open file to this number, which was closed and which other code may still use."""
    if number == descriptor:
        yield
        return
    os.dup2(descriptor, number)
    try:
        yield
    finally:
        os.close(number)
