"""Run a generator that yields requests and receives their results.

Logic that blocking and async code share is written as such a generator: a plan of a SQL store, a procedure over
operations, a wait for a chain. `drive` runs it in blocking code, `drive_async` in a task, `translate` inside another
generator.

An exception of `perform` is raised inside the generator, at its `yield`. There the generator can handle it. Otherwise
the exception leaves the generator and reaches the caller.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

Request = TypeVar("Request")
Inner = TypeVar("Inner")
R = TypeVar("R")


def drive(generator: Generator[Request, Any, R], perform: Callable[[Request], Any]) -> R:
    """Run a generator to its end, calling `perform` for each request. Returns the generator's result."""
    try:
        request = next(generator)
        while True:
            try:
                result = perform(request)
            except BaseException as error:
                request = generator.throw(error)
            else:
                request = generator.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        generator.close()


async def drive_async(generator: Generator[Request, Any, R], perform: Callable[[Request], Awaitable[Any]]) -> R:
    """The same in a task: awaits `perform` for each request."""
    try:
        request = next(generator)
        while True:
            try:
                result = await perform(request)
            except BaseException as error:
                request = generator.throw(error)
            else:
                request = generator.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        generator.close()


def translate(
    generator: Generator[Request, Any, R], perform: Callable[[Request], Generator[Inner, Any, Any]]
) -> Generator[Inner, Any, R]:
    """The same inside a generator: `perform` returns a generator, whose requests are yielded instead of the request."""
    try:
        request = next(generator)
        while True:
            try:
                result = yield from perform(request)
            except BaseException as error:
                request = generator.throw(error)
            else:
                request = generator.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        generator.close()
