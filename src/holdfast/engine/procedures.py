"""Logic that needs several operations, written once: a generator yields operations and is sent their answers.

Two drivers of a few lines each run it, one blocking and one async.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

from holdfast.engine.operations import Operation

R = TypeVar("R")

Steps = Generator[Operation[Any], Any, R]


async def run(perform: Callable[[Operation[Any]], Awaitable[Any]], steps: Steps[R]) -> R:
    """Run the steps, awaiting each operation."""
    try:
        operation = next(steps)
        while True:
            try:
                answer = await perform(operation)
            except BaseException as error:
                operation = steps.throw(error)
            else:
                operation = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def run_sync(perform: Callable[[Operation[Any]], Any], steps: Steps[R]) -> R:
    """Run the steps, blocking on each operation."""
    try:
        operation = next(steps)
        while True:
            try:
                answer = perform(operation)
            except BaseException as error:
                operation = steps.throw(error)
            else:
                operation = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
