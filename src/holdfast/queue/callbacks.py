"""Callbacks for events in this process. They are called after the commit, and their errors affect no job."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from holdfast.engine.interruption import ends_task, is_ctrl_c
from holdfast.engine.observers import log

Callback = Callable[..., Any]


class Callbacks:
    """The callbacks of one queue or reaper, by event.

    A callback is called with as many of the event's values as it takes. An exception of a callback is logged, and
    passed to the callbacks for `error`. What the event reports is committed already.
    """

    def __init__(self, events: Iterable[str]) -> None:
        self._by_event: dict[str, list[tuple[Callback, int | None]]] = {event: [] for event in events}
        self._tasks: set[asyncio.Task[None]] = set()

    def on(self, event: str, callback: Callback) -> Callable[[], None]:
        """Add a callback. Returns the function that removes it. An async callback runs in a task of its own."""
        try:
            callbacks = self._by_event[event]
        except KeyError:
            raise ValueError(f"there is no event {event!r}; the events are {', '.join(self._by_event)}") from None
        if not callable(callback):
            raise TypeError(f"a listener is a function, not {type(callback).__name__}")
        entry = (callback, _arity(callback))
        callbacks.append(entry)
        return lambda: _discard(callbacks, entry)

    def wants(self, event: str) -> bool:
        """Whether the event has a callback. Check it first if the values of the event are expensive."""
        return bool(self._by_event[event])

    def emit(self, event: str, *values: Any) -> None:
        """Call every callback of the event. Only a Ctrl-C is raised."""
        for callback, arity in list(self._by_event[event]):
            try:
                answer = callback(*values[:arity])
                if inspect.isawaitable(answer):
                    self._follow(event, answer)
            except BaseException as error:  # no await here, so the callback itself raised a CancelledError
                if is_ctrl_c(error):
                    raise
                self._report(event, error)

    def _follow(self, event: str, answer: Awaitable[Any]) -> None:
        async def follow() -> None:
            try:
                await answer
            except BaseException as error:
                if ends_task(error, cast("asyncio.Task[None]", asyncio.current_task())):
                    raise
                self._report(event, error)

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            cast(Any, answer).close()
            raise TypeError("an async listener needs an event loop; give blocking code a plain function") from None
        task = loop.create_task(follow())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _report(self, event: str, error: BaseException) -> None:
        log.error("a listener for %r raised; nothing else is affected", event, exc_info=error)
        if event != "error":
            self.emit("error", error)


def _arity(callback: Callback) -> int | None:
    """How many positional arguments a callback takes; None for any number, or if its signature is unknown."""
    try:
        parameters = inspect.signature(callback).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    return sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters)


def _discard(callbacks: list[tuple[Callback, int | None]], entry: tuple[Callback, int | None]) -> None:
    if entry in callbacks:
        callbacks.remove(entry)
