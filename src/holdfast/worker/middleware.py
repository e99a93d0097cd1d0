"""Middlewares wrap each attempt; the first is outermost. The method `around` of a plugin is a middleware.

A middleware is an async callable ``(attempt, call_next)`` that returns the value of ``await call_next()``. It may also
have methods `prepare(attempt, tx)` and `complete(attempt, done)` that return async context managers. These wrap the
blocks of the same names, inside their transactions. An error in a middleware fails the attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, Literal, Protocol

from holdfast.registry.extensions import methods_of
from holdfast.registry.jobs import Jobs

CallNext = Callable[[], Awaitable[Any]]


class Middleware(Protocol):
    """A callable that wraps attempts."""

    def __call__(self, attempt: Any, call_next: CallNext, /) -> Awaitable[Any]: ...


def middlewares_of(jobs: Jobs, type: str, given: Iterable[Middleware]) -> tuple[Middleware, ...]:
    """The middlewares of a job type, outermost first: plugins, those given to the worker, those of the registries."""
    scope = jobs.scope(type)
    return (*methods_of(scope, "around"), *given, *(each for registry in scope for each in registry.middlewares))


def wrap_handler(middlewares: tuple[Middleware, ...], attempt: Any, handler: CallNext) -> CallNext:
    """The handler, wrapped in every middleware."""
    for middleware in reversed(middlewares):
        handler = partial(middleware, attempt, handler)
    return handler


def block_manager(
    middleware: Middleware, block: Literal["prepare", "complete"], attempt: Any, subject: Any
) -> AbstractAsyncContextManager[Any]:
    """The context manager of a middleware for a block; if there is none, one that does nothing."""
    wrap = getattr(middleware, block, None)
    manager: AbstractAsyncContextManager[Any] = nullcontext() if wrap is None else wrap(attempt, subject)
    return manager
