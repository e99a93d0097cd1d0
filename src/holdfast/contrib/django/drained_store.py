"""The store that runs the jobs of a test on the connection of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections

from holdfast.contrib.django.connection_store import ConnectionStore
from holdfast.contrib.django.discovery import registry
from holdfast.contrib.django.transactions import ConnectionTransaction
from holdfast.core.clock import Clock
from holdfast.engine.operations import Operation, Renew
from holdfast.engine.wakeups import Hints, LocalWakeups
from holdfast.worker.running_job import use_running_job
from holdfast.worker.threads import Threads

R = TypeVar("R")

_RUNNING_JOB = use_running_job()


class _TransactionOpen(Exception):
    """An attempt has a transaction on the only connection."""


class DrainedStore(ConnectionStore):
    """Nothing else can claim the jobs of a test: other processes get no wake-ups, and leases need no renewal.

    Both would use the connection of another thread. While an attempt has a transaction, the other parts of the worker
    wait: on the same connection, their changes would be rolled back with it.
    """

    def __init__(self, alias: str, *, schema: str, clock: Clock | None) -> None:
        super().__init__(alias, schema=schema, clock=clock)
        self.wakeups = _DueOnly()
        self._open = 0
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()

    async def perform(self, operation: Operation[R], /) -> R:
        if _RUNNING_JOB.get() is not None:  # of the handler
            return await super().perform(operation)
        while True:
            try:
                return await sync_to_async(self._perform_alone)(operation)
            except _TransactionOpen:
                await self._ended.wait()

    def perform_sync(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Renew):
            return cast("R", {})
        return super().perform_sync(operation)

    def begin_sync(self) -> ConnectionTransaction:
        made = ConnectionTransaction(connections[self.alias], self.join_sync, ended=lambda _: self._end())
        self._open += 1
        return made

    def _end(self) -> None:
        self._open -= 1
        self._loop.call_soon_threadsafe(self._ended.set)

    def _perform_alone(self, operation: Operation[R]) -> R:
        # Every statement runs in this thread, and so does every end of a transaction.
        if self._open:
            self._loop.call_soon_threadsafe(self._ended.clear)
            raise _TransactionOpen
        return self.perform_sync(operation)


class _DueOnly(LocalWakeups):
    """Wakes claim loops only. After other hints, a worker would read its claims in the thread of its renewer."""

    def send(self, hints: Hints) -> None:
        due = {job_type.name for job_type in registry()} if hints.anything else hints.due
        super().send(Hints(due=due, finished=hints.finished))


def serve_while_waiting(coroutine: Coroutine[Any, Any, R], loop: asyncio.AbstractEventLoop) -> R:
    """For `wait_on_loop`: a handler in the thread of the test waits, and this thread executes statements meanwhile."""
    return async_to_sync(_awaited)(coroutine)


async def _awaited(coroutine: Coroutine[Any, Any, R]) -> R:
    return await coroutine


class InThreadOfTest(Threads):
    """Runs plain handlers in the thread of the test, which owns the connection."""

    async def run(self, function: Callable[[], R]) -> R:
        return await sync_to_async(function)()
