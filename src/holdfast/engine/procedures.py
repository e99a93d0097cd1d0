"""Logic that needs several operations, written once: a generator yields operations and is sent their answers.

Two drivers of a few lines each run it, one blocking and one async.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import Operation

R = TypeVar("R")

Steps = Generator[Operation[Any], Any, R]


def run(perform: Callable[[Operation[Any]], Awaitable[Any]], steps: Steps[R]) -> Coroutine[Any, Any, R]:
    """Run a procedure, awaiting each operation."""
    return drive_async(steps, perform)


def run_sync(perform: Callable[[Operation[Any]], Any], steps: Steps[R]) -> R:
    """Run a procedure, blocking on each operation."""
    return drive(steps, perform)
