"""Procedures: generators that yield operations and receive their results.

Code that needs several operations is written once this way. It runs blocking (`run_sync`) or async (`run`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import Operation

R = TypeVar("R")

Procedure = Generator[Operation[Any], Any, R]


def run(perform: Callable[[Operation[Any]], Awaitable[Any]], procedure: Procedure[R]) -> Coroutine[Any, Any, R]:
    """Run a procedure, awaiting each operation."""
    return drive_async(procedure, perform)


def run_sync(perform: Callable[[Operation[Any]], Any], procedure: Procedure[R]) -> R:
    """Run a procedure, blocking on each operation."""
    return drive(procedure, perform)
