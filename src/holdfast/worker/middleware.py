"""Middlewares wrap each attempt; the first is outermost.

A middleware is an async callable ``(attempt, call_next)`` that returns the value of ``await call_next()``. It may also
have methods `prepare(attempt, tx)` and `complete(attempt, done)` that return async context managers. These wrap the
blocks of the same names, inside their transactions. An error in a middleware fails the attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, Literal, Protocol

CallNext = Callable[[], Awaitable[Any]]


class Middleware(Protocol):
    """A callable that wraps attempts."""

    def __call__(self, attempt: Any, call_next: CallNext, /) -> Awaitable[Any]: ...


def wrap_handler(middlewares: tuple[Middleware, ...], attempt: Any, handler: CallNext) -> CallNext:
    """The handler, wrapped in every middleware."""
    for middleware in reversed(middlewares):
        handler = partial(middleware, attempt, handler)
    return handler


def block_manager(
    middleware: Middleware, block: Literal["prepare", "complete"], attempt: Any, subject: Any
) -> AbstractAsyncContextManager[Any]:
    """The context manager that a middleware puts around a block; an empty one if it has none."""
    wrap = getattr(middleware, block, None)
    manager: AbstractAsyncContextManager[Any] = nullcontext() if wrap is None else wrap(attempt, subject)
    return manager
