"""Async adapters over the async and the blocking interface.

Every case is written once and runs with Client and async handlers, and with SyncClient and plain handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from enum import Enum
from functools import partial
from typing import Any

from holdfast import Attempt, Client, Jobs, SyncAttempt, SyncClient
from holdfast.testing.conformance.barrier import drive


class Mode(Enum):
    ASYNC = "async"
    SYNC = "sync"


class TaskThreads:
    """Threads for blocking calls. Each task of a test has its own thread, like a separate program."""

    def __init__(self) -> None:
        self._threads: dict[asyncio.Task[Any], ThreadPoolExecutor] = {}

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        if task not in self._threads:
            self._threads[task] = ThreadPoolExecutor(1)
        return await asyncio.get_running_loop().run_in_executor(self._threads[task], partial(function, *args, **kwargs))

    def close(self) -> None:
        for thread in self._threads.values():
            thread.shutdown()


class ClientAdapter:
    """A client of either kind with awaitable methods."""

    def __init__(self, client: Client | SyncClient, threads: TaskThreads) -> None:
        self.client = client
        self._threads = threads

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = getattr(self.client, name)
        return method if isinstance(self.client, Client) else partial(self._threads.call, method)

    @asynccontextmanager
    async def completing(self, chain: Any, **options: Any) -> AsyncGenerator[CurrentAdapter]:
        if isinstance(self.client, Client):
            async with self.client.completing(chain, **options) as current:
                yield CurrentAdapter(current, None)
            return
        manager = self.client.completing(chain, **options)
        entered = await self._threads.call(manager.__enter__)
        try:
            yield CurrentAdapter(entered, self._threads)
        except BaseException as error:
            await self._threads.call(manager.__exit__, type(error), error, error.__traceback__)
            raise
        await self._threads.call(manager.__exit__, None, None, None)

    @asynccontextmanager
    async def events(self) -> AsyncGenerator[Callable[[], Coroutine[Any, Any, Any]]]:
        """Yields a function that awaits the next event."""
        if isinstance(self.client, Client):
            events = self.client.events()
            try:
                yield lambda: anext(events)  # pyright: ignore[reportReturnType]
            finally:
                await events.aclose()
        else:
            blocking = self.client.events()
            try:
                yield lambda: self._threads.call(next, blocking)
            finally:
                await self._threads.call(blocking.close)


class CurrentAdapter:
    """The object of `completing` with awaitable methods."""

    def __init__(self, current: Any, threads: TaskThreads | None) -> None:
        self.current = current
        self._threads = threads

    @property
    def job(self) -> Any:
        return self.current.job

    @property
    def tx(self) -> Any:
        return self.current.tx

    async def output(self, value: Any) -> None:
        await self._call("output", value)

    async def continue_with(self, bound: Any, **options: Any) -> Any:
        return await self._call("continue_with", bound, **options)

    async def start(self, bound: Any, **options: Any) -> Any:
        return await self._call("start", bound, **options)

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        method = getattr(self.current, name)
        return await (method(*args, **kwargs) if self._threads is None else self._threads.call(method, *args, **kwargs))


class AttemptAdapter:
    """An attempt of either kind with async context managers. In a plain handler they never suspend."""

    def __init__(self, attempt: Attempt | SyncAttempt) -> None:
        self.attempt = attempt
        self.job = attempt.job
        self.blockers = attempt.blockers
        self.claim = attempt.claim

    @asynccontextmanager
    async def prepare(self, *args: Any, **options: Any) -> AsyncGenerator[Any]:
        if isinstance(self.attempt, Attempt):
            async with self.attempt.prepare(*args, **options) as tx:
                yield tx
        else:
            with self.attempt.prepare(*args, **options) as tx:
                yield tx

    @asynccontextmanager
    async def complete(self, **options: Any) -> AsyncGenerator[DoneAdapter]:
        if isinstance(self.attempt, Attempt):
            async with self.attempt.complete(**options) as done:
                yield DoneAdapter(done)
        else:
            with self.attempt.complete(**options) as done_too:
                yield DoneAdapter(done_too)

    async def progress(self, fraction: float, note: str | None = None) -> None:
        if isinstance(self.attempt, Attempt):
            await self.attempt.progress(fraction, note)
        else:
            self.attempt.progress(fraction, note)

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the attempt that an async handler awaits, such as `step`."""
        answer = getattr(self.attempt, method)(*args, **options)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def rows(self, *args: Any, **options: Any) -> AsyncGenerator[Any]:
        """The items of a cursor."""
        cursor = self.attempt.cursor(*args, **options)
        if isinstance(cursor, AsyncIterator):
            async for row in cursor:
                yield row
        else:
            for row in cursor:
                yield row


class DoneAdapter:
    def __init__(self, done: Any) -> None:
        self.done = done
        self.tx = done.tx
        self.output = done.output
        self.continue_with = done.continue_with

    async def start(self, bound: Any, **options: Any) -> Any:
        started = self.done.start(bound, **options)
        return await started if asyncio.iscoroutine(started) else started


Body = Callable[[AttemptAdapter, int], Coroutine[Any, Any, Any]]


def declare(jobs: Jobs, mode: Mode, body: Body, *, name: str | None = None, **options: Any) -> Any:
    """A job type with this body, async or plain by the mode. Its input is one number."""
    name = body.__name__ if name is None else name
    if mode is Mode.ASYNC:

        @jobs.job(name=name, **options)  # type: ignore[untyped-decorator]
        async def handler(attempt: Attempt, number: int = 0) -> Any:
            return await body(AttemptAdapter(attempt), number)

    else:

        @jobs.job(name=name, **options)  # type: ignore[untyped-decorator]
        def plain_handler(attempt: SyncAttempt, number: int = 0) -> Any:
            return drive(body(AttemptAdapter(attempt), number))

    return jobs[name]
