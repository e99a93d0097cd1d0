"""The waits of an async handler: `sleep`, `receive` and `cursor` of Attempt."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from datetime import datetime
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from holdfast.codec.codec import Codec, codec_for
from holdfast.core.clock import SECOND, Micros, to_micros
from holdfast.core.failure import describe
from holdfast.core.retry import Seconds
from holdfast.core.steps import WAIT_IN_PLACE, StepRow
from holdfast.errors import MessageTimeout
from holdfast.worker.steps.attempt_steps import POLL, AttemptSteps, position_of, read_position
from holdfast.worker.steps.calls import check_kind, wait_time
from holdfast.worker.steps.log import Key
from holdfast.worker.steps.results import NOT_GIVEN, decoded, encoded
from holdfast.worker.steps.suspended import Suspended

if TYPE_CHECKING:
    from holdfast.core.job import Job

R = TypeVar("R")
T = TypeVar("T")


class AsyncWaits:
    """`sleep`, `sleep_until`, `receive` and `cursor` of an async handler."""

    if TYPE_CHECKING:
        job: Job
        _steps: AttemptSteps

        def _track(self, name: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]: ...

    def sleep(self, name: str, seconds: Seconds, /, *, each: Any = NOT_GIVEN) -> Coroutine[Any, Any, None]:
        """Sleep. More than 5 s end the attempt by `Suspended`: no slot, no lease and no attempt is used meanwhile."""
        delay = wait_time(seconds, "a sleep")
        call = self._sleep(self._steps.log.use("sleep", name, each), delay=delay)
        return self._track("attempt.sleep(...)", call)

    def sleep_until(self, name: str, moment: datetime, /, *, each: Any = NOT_GIVEN) -> Coroutine[Any, Any, None]:
        """Sleep until this time, as `sleep` does. The datetime must be aware."""
        at = to_micros(moment)
        call = self._sleep(self._steps.log.use("sleep", name, each), at=at)
        return self._track("attempt.sleep_until(...)", call)

    @overload
    def receive(self, name: str, type: type[R], /, *, timeout: Seconds | None = None) -> Coroutine[Any, Any, R]: ...

    @overload
    def receive(self, name: str, type: UnionType, /, *, timeout: Seconds | None = None) -> Coroutine[Any, Any, Any]: ...

    def receive(self, name: str, type: Any, /, *, timeout: Seconds | None = None) -> Coroutine[Any, Any, Any]:
        """The message of this name, which `client.send(chain, name, value)` sends. A wait of more than 5 s ends the
        attempt, as a long `sleep` does. MessageTimeout after `timeout`, which counts from the first wait.
        """
        codec = codec_for(type)
        delay = None if timeout is None else wait_time(timeout, "the timeout of a receive")
        call = self._receive(self._steps.log.use("receive", name), codec, delay)
        return self._track("attempt.receive(...)", call)

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
        plain JSON values. The position is saved after `every` items. An item counts when the next one is asked for.
        """
        if every < 1:
            raise ValueError("every= must be at least 1")
        codec = codec_for(Any if returns is NOT_GIVEN else returns) if callable(rows) else None
        return self._cursor(self._steps.log.use("cursor", name), rows, every, codec)

    # Implementation

    async def _sleep(self, key: Key, *, delay: Micros = 0, at: Micros | None = None) -> None:
        steps = self._steps
        with steps.log.running():
            row = await self._open_row(key, "sleep")
            if row is not None and row.finished_at is not None:
                return
            now = steps.now()
            end = (now + delay if at is None else at) if row is None else row.wake_at or now
            begun = now if row is None else row.started_at
            await self._wait(key, "sleep", end, _never)
            await steps.save(steps.log.checkpoint(key, "sleep", took=steps.now() - begun))

    async def _receive(self, key: Key, codec: Codec, timeout: Micros | None) -> Any:
        with self._steps.log.running():
            row = await self._open_row(key, "receive")
            if row is None or not row.final:
                row = await self._received(key, row, timeout)
        if row.error is not None:
            raise MessageTimeout(key.name)
        return decoded(self.job.id, row, codec)

    async def _received(self, key: Key, row: StepRow | None, timeout: Micros | None) -> StepRow:
        """Wait for the message, and store it, or that it did not arrive in time."""
        steps, now = self._steps, self._steps.now()
        end = (None if timeout is None else now + timeout) if row is None else row.wake_at
        begun = now if row is None else row.started_at
        value = await steps.message(key.name)
        if value is None:
            value = await self._wait(key, "receive", end, partial(self._arrived, key.name))
        error = None if value is not None else describe(MessageTimeout(key.name))
        checkpoint = steps.log.checkpoint(key, "receive", result=value, error=error, took=steps.now() - begun)
        return (await steps.save(checkpoint)).row(steps.now())

    async def _open_row(self, key: Key, kind: Literal["sleep", "receive"]) -> StepRow | None:
        await self._steps.load()
        row = self._steps.log.row(key)
        if row is not None:
            check_kind(row, key, kind)
        return row

    async def _arrived(self, name: str) -> bytes:
        value = None
        while value is None:
            await asyncio.sleep(POLL)
            value = await self._steps.message(name)
        return value

    async def _wait(
        self, key: Key, kind: Literal["sleep", "receive"], end: Micros | None, arrives: Callable[[], Awaitable[bytes]]
    ) -> bytes | None:
        """Wait until `end`, or for a message: in place if that is soon, otherwise in a later attempt."""
        steps, log = self._steps, self._steps.log
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
                    # Other steps run. Meanwhile the wait may end in this attempt.
                    changed.clear()
                    ends = () if end is None else (steps.pause(end),)
                    message = await _first(arrives(), _until(changed), *ends)
                    if message is not None or (end is not None and steps.now() >= end):
                        return message
        finally:
            del log.listeners[key]

    async def _cursor(self, key: Key, rows: Any, every: int, codec: Codec | None) -> AsyncIterator[Any]:
        steps, log = self._steps, self._steps.log
        await steps.load()
        row = log.row(key)
        if row is not None:
            check_kind(row, key, "cursor")
            if row.finished_at is not None:
                return
        count, last = read_position(row)
        stored, skipped = count, count if codec is None else 0
        items = rows if codec is None else rows(None if count == 0 else codec.decode(last))
        async for item in _items(await items if inspect.isawaitable(items) else items):
            if skipped:
                skipped -= 1
                continue
            yield item
            count += 1
            if codec is not None:
                last = encoded(key.name, codec, item)
            if count - stored >= every:
                await steps.save(position_of(log, key, (count, last), done=False))
                stored = count
                log.positions.pop(key, None)
            else:
                log.positions[key] = (count, last)
        log.positions.pop(key, None)
        await steps.save(position_of(log, key, (count, last), done=True))


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
    """The result of the first of these that ends. The others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    return next(task for task in tasks if task in done).result()
