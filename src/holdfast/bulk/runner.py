"""Runs the chains of bulk actions in the process of a dashboard, while there are any."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Final

from holdfast.bulk.jobs import bulk_jobs
from holdfast.bulk.names import BULK_TYPES
from holdfast.client.client import Client
from holdfast.core.failure import message_of
from holdfast.core.record import UNFINISHED
from holdfast.engine.observers import log
from holdfast.engine.operations import Filter, ListJobs
from holdfast.engine.store import Store
from holdfast.errors import HoldfastError
from holdfast.worker import Worker

_LOOK_EVERY: Final = 1.0
"""Seconds between two checks whether the last action has ended. The worker then stops."""
_LEFT_OVER_EVERY: Final = 30.0


class BulkRunner:
    """A worker that runs only while a bulk action is unfinished: an idle dashboard is not a worker.

    Belongs to one event loop. `client` starts and reads the chains; it uses the store of the dashboard's client.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.client = Client(store, bulk_jobs)
        self._task: asyncio.Task[None] | None = None
        self._wanted = False
        self._looked_at: float | None = None

    def wake(self) -> None:
        """Run bulk actions until none is left. Does nothing if they run already."""
        self._wanted = True
        self._begin()

    def continue_left_over(self) -> None:
        """Run actions of a process that has stopped, if there are any. Looks for them every 30 seconds at most.

        It does not wait for the store: a page that calls this is not slower.
        """
        now = monotonic()
        if self._looked_at is None or now - self._looked_at > _LEFT_OVER_EVERY:
            self._looked_at = now
            self._begin()

    async def idle(self) -> None:
        """Wait until no action is left, and the worker has stopped."""
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Release the running job, and stop. Another process continues the action."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="holdfast-bulk")

    async def _run(self) -> None:
        try:
            while self._wanted or await self._unfinished():
                self._wanted = False
                async with Worker(self.client, concurrency=2, grace=5, ticks=False):
                    while self._wanted or await self._unfinished():
                        self._wanted = False
                        await asyncio.sleep(_LOOK_EVERY)
        except HoldfastError as error:  # the next request starts it again
            self._looked_at = None
            log.error("bulk actions stopped: %s", message_of(error), exc_info=error)

    async def _unfinished(self) -> bool:
        shown = Filter(statuses=tuple(sorted(UNFINISHED)), types=tuple(sorted(BULK_TYPES)))
        found = await self._store.perform(ListJobs(shown, 1))
        return bool(found)
