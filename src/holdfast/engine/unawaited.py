"""Detects coroutines that the caller forgot to await."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class UnawaitedCalls:
    """Coroutines that were returned to the caller. It keeps references, so that none is garbage-collected unseen."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: list[tuple[str, Coroutine[Any, Any, Any]]] = []

    def track(self, name: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Return the same coroutine, and remember it for `check`."""
        self._calls.append((name, call))
        return call

    def check(self) -> None:
        """Raise RuntimeError for a coroutine that was not awaited to its end."""
        left = [(name, call) for name, call in self._calls if inspect.getcoroutinestate(call) != inspect.CORO_CLOSED]
        self._calls.clear()
        for _, call in left:
            if inspect.getcoroutinestate(call) == inspect.CORO_CREATED:
                call.close()  # suppresses Python's own "was never awaited" warning
        for name, _ in left:
            raise RuntimeError(f"{name} was not awaited, so nothing is completed: write `await {name}`")
