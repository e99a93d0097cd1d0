"""The waits of an async handler: `sleep`, `receive` and `cursor` of Attempt."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from datetime import datetime
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from holdfast.codec.codec import Codec, codec_for
from holdfast.core.clock import SECOND, Micros, to_micros
from holdfast.core.retry import Seconds
from holdfast.core.steps import WAIT_IN_PLACE
from holdfast.engine.generators import drive_async
from holdfast.worker.steps.attempt_steps import POLL, AttemptSteps
from holdfast.worker.steps.calls import wait_time
from holdfast.worker.steps.log import Key
from holdfast.worker.steps.results import NOT_GIVEN
from holdfast.worker.steps.step_logic import itself
from holdfast.worker.steps.suspended import Suspended
from holdfast.worker.steps.wait_logic import CursorPosition, SharedWaits, WaitKind

if TYPE_CHECKING:
    from holdfast.core.job import Job

R = TypeVar("R")
T = TypeVar("T")


class AsyncWaits(SharedWaits):
    """`sleep`, `sleep_until`, `receive` and `cursor` of an async handler."""

    if TYPE_CHECKING:
        job: Job
        _steps: AttemptSteps

        def _track(self, name: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]: ...

    def sleep(self, name: str, seconds: Seconds, /, *, each: Any = NOT_GIVEN) -> Coroutine[Any, Any, None]:
        """Sleep. A sleep of more than 5 s raises `Suspended`: meanwhile it uses no slot, no lease and no attempt."""
        delay = wait_time(seconds, "a sleep")
        logic = self._sleep(self._steps.log.use("sleep", name, each), delay=delay)
        return self._track("attempt.sleep(...)", drive_async(logic, itself))

    def sleep_until(self, name: str, moment: datetime, /, *, each: Any = NOT_GIVEN) -> Coroutine[Any, Any, None]:
        """Sleep until this time, as `sleep` does. The datetime must be aware."""
        at = to_micros(moment)
        logic = self._sleep(self._steps.log.use("sleep", name, each), at=at)
        return self._track("attempt.sleep_until(...)", drive_async(logic, itself))

    @overload
    def receive(self, name: str, type: type[R], /, *, timeout: Seconds | None = None) -> Coroutine[Any, Any, R]: ...

    @overload
    def receive(self, name: str, type: UnionType, /, *, timeout: Seconds | None = None) -> Coroutine[Any, Any, Any]: ...

    def receive(self, name: str, type: Any, /, *, timeout: Seconds | None = None) -> Coroutine[Any, Any, Any]:
        """Return the message of this name, which `client.send(chain, name, value)` sends.

        A wait of more than 5 s ends the attempt, as a long `sleep` does. Raises MessageTimeout after `timeout`. The
        timeout is measured from the first wait.
        """
        codec = codec_for(type)
        delay = None if timeout is None else wait_time(timeout, "the timeout of a receive")
        logic = self._receive(self._steps.log.use("receive", name), codec, delay)
        return self._track("attempt.receive(...)", drive_async(logic, itself))

    @overload
    def cursor(
        self, name: str, rows: Callable[[T | None], AsyncIterable[T] | Iterable[T]], /, *, every: int = 100,
        returns: Any = ...,
    ) -> AsyncIterator[T]: ...  # fmt: skip

    @overload
    def cursor(
        self, name: str, rows: AsyncIterable[T] | Iterable[T], /, *, every: int = 100, returns: Any = ...
    ) -> AsyncIterator[T]: ...

    def cursor(self, name: str, rows: Any, /, *, every: int = 100, returns: Any = NOT_GIVEN) -> AsyncIterator[Any]:
        """Iterate over rows, and continue after the last saved position in a later attempt.

        `rows` is an iterable with a stable order, whose finished items are skipped, or a function of the last saved
        item (None at first) that returns the items after it. `returns=` is then the type of the items, if they are not
        plain JSON values. The position is saved after `every` items. An item counts when the next one is requested.
        """
        if every < 1:
            raise ValueError("every= must be at least 1")
        codec = codec_for(Any if returns is NOT_GIVEN else returns) if callable(rows) else None
        return self._cursor(self._steps.log.use("cursor", name), rows, every, codec)

    # Implementation

    async def _arrived(self, name: str) -> bytes:
        value = None
        while value is None:
            await asyncio.sleep(POLL)
            value = await self._steps.message(name)
        return value

    async def _wait(self, key: Key, kind: WaitKind, end: Micros | None) -> bytes | None:
        steps, log = self._steps, self._steps.log
        arrives = partial(self._arrived, key.name) if kind == "receive" else _never
        if end is not None and end - steps.now() <= WAIT_IN_PLACE * SECOND:
            return await _first(arrives(), steps.pause(end))
        changed, loop = asyncio.Event(), asyncio.get_running_loop()
        log.listeners[key] = lambda: loop.call_soon_threadsafe(changed.set)
        try:
            with log.waiting(key, kind, end):
                while True:
                    for _ in range(3):  # let tasks that were created together begin their steps
                        await asyncio.sleep(0)
                    if log.suspend():
                        await steps.save_positions()
                        raise Suspended
                    # Other steps are running. Until they end, the wait may end in this attempt.
                    changed.clear()
                    ends = () if end is None else (steps.pause(end),)
                    message = await _first(arrives(), _until(changed), *ends)
                    if message is not None or (end is not None and steps.now() >= end):
                        return message
        finally:
            del log.listeners[key]

    async def _cursor(self, key: Key, rows: Any, every: int, codec: Codec | None) -> AsyncIterator[Any]:
        await self._steps.load()
        position = CursorPosition(self._steps.log, key, every, codec)
        if position.ended:
            return
        items = position.rest_of(rows)
        async for item in _items(await items if inspect.isawaitable(items) else items):
            if position.skips():
                continue
            yield item
            if (checkpoint := position.finish(item)) is not None:
                await self._steps.save(checkpoint)
                position.saved()
        await self._steps.save(position.end())


async def _items(rows: Any) -> AsyncIterator[Any]:
    if isinstance(rows, AsyncIterable):
        async for item in rows:  # pyright: ignore[reportUnknownVariableType]
            yield item
    else:
        for item in rows:
            yield item


async def _until(event: asyncio.Event) -> None:
    await event.wait()


async def _never() -> bytes:
    never: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    return await never


async def _first(*waits: Awaitable[bytes | None]) -> bytes | None:
    """The result of the first awaitable that ends. The others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    return next(task for task in tasks if task in done).result()
