"""Calls that do nothing unless they are awaited, and are part of something that must not be done without them."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Awaiting:
    """The calls made so far, held on to, so that a forgotten one is found and not dropped with a warning."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: list[tuple[str, Coroutine[Any, Any, Any]]] = []

    def note(self, name: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The same call, to be looked at in the end."""
        self._calls.append((name, call))
        return call

    def check(self) -> None:
        """RuntimeError for a call that was not awaited to its end."""
        left = [(name, call) for name, call in self._calls if inspect.getcoroutinestate(call) != inspect.CORO_CLOSED]
        self._calls.clear()
        for _, call in left:
            if inspect.getcoroutinestate(call) == inspect.CORO_CREATED:
                call.close()  # told here, and not once more by a warning
        for name, _ in left:
            raise RuntimeError(f"{name} was not awaited, so nothing is completed: write `await {name}`")
