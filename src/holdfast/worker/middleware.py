"""Middlewares: an onion around each attempt, the first outermost.

A middleware is an async callable ``(attempt, call_next)`` that returns what ``await call_next()`` gave it. It may also
have methods `prepare(attempt, tx)` and `complete(attempt, done)` that return async context managers: these wrap the
blocks of the same names, inside their transactions. An error in a middleware is an attempt that failed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, Literal, Protocol

CallNext = Callable[[], Awaitable[Any]]


class Middleware(Protocol):
    """Something that wraps attempts."""

    def __call__(self, attempt: Any, call_next: CallNext, /) -> Awaitable[Any]: ...


def onion(middlewares: tuple[Middleware, ...], attempt: Any, handler: CallNext) -> CallNext:
    """The handler with every middleware around it."""
    for middleware in reversed(middlewares):
        handler = partial(middleware, attempt, handler)
    return handler


def around(
    middleware: Middleware, block: Literal["prepare", "complete"], attempt: Any, subject: Any
) -> AbstractAsyncContextManager[Any]:
    """What a middleware wraps around a block; nothing if it does not care."""
    wrap = getattr(middleware, block, None)
    manager: AbstractAsyncContextManager[Any] = nullcontext() if wrap is None else wrap(attempt, subject)
    return manager
