"""Detects coroutines that the caller forgot to await."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_MANY = 64
"""Coroutines that are kept before those that have ended are removed."""


class UnawaitedCalls:
    """Coroutines that were returned to the caller. It keeps references, so that none is garbage-collected first."""

    __slots__ = ("_calls", "_tidied")

    def __init__(self) -> None:
        self._calls: list[tuple[str, Coroutine[Any, Any, Any]]] = []
        self._tidied = _MANY

    def track(self, name: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Return the same coroutine, and remember it for the check."""
        self._calls.append((name, call))
        if len(self._calls) > self._tidied:
            self._calls = [each for each in self._calls if _state(each) != inspect.CORO_CLOSED]
            self._tidied = _MANY + 2 * len(self._calls)
        return call

    def check(self) -> None:
        """Raise RuntimeError for a coroutine that was not awaited to its end."""
        for name in self._left():
            raise RuntimeError(f"{name} was not awaited, so nothing is completed: write `await {name}`")

    def check_begun(self) -> None:
        """Raise RuntimeError for a coroutine that has not begun. It may still run in a task of the caller."""
        for name in self._left(inspect.CORO_CREATED):
            raise RuntimeError(f"{name} was not awaited, so it did not run: write `await {name}`")

    def _left(self, *states: str) -> list[str]:
        """The names of the coroutines in these states, or of all that have not ended. Those not begun are closed."""
        calls, self._calls = self._calls, []
        left: list[str] = []
        for name, call in calls:
            state = inspect.getcoroutinestate(call)
            if state == inspect.CORO_CREATED:
                call.close()  # suppresses Python's own "was never awaited" warning
            if state in states or (not states and state != inspect.CORO_CLOSED):
                left.append(name)
        return left


def check_statements(tx: object) -> None:
    """Raise RuntimeError if the application did not await one of its own statements in this transaction.

    A transaction that notices this has the attribute `unawaited`: those of the SQL stores, and of async sessions.
    """
    calls: UnawaitedCalls | None = getattr(tx, "unawaited", None)
    if calls is not None:
        calls.check_begun()


def _state(call: tuple[str, Coroutine[Any, Any, Any]]) -> str:
    return inspect.getcoroutinestate(call[1])
