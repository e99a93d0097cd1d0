"""Servers that tests share run until the process ends."""

from __future__ import annotations

import atexit
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

S = TypeVar("S")

_RUNNING: list[ExitStack] = []
"""Since Python 3.13, a child that multiprocessing forks drops the exit handlers. If only these referred to a block, it
would end in the child, and remove the files of the server."""


def until_exit(server: AbstractContextManager[S]) -> S:
    """Enter the block of a server. It is left when this process ends, before temporary folders are removed."""
    stack = ExitStack()
    running = stack.enter_context(server)
    _RUNNING.append(stack)
    # Registered after the clean-up of the temporary folder, so it runs before that.
    atexit.register(stack.close)
    return running
