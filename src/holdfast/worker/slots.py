"""The slots of a worker: a task for each attempt, as many at once as the worker may run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from holdfast.observer import log
from holdfast.record import Record
from holdfast.worker.holdings import Holding, Holdings
from holdfast.worker.runner import Runner


class Slots:
    """Runs attempts side by side. `freed` is called when one has ended and its slot is free."""

    def __init__(
        self,
        runner: Runner,
        holdings: Holdings,
        *,
        concurrency: int,
        job_delay: float,
        stopping: asyncio.Event,
        freed: Callable[[], None],
    ) -> None:
        self.concurrency = concurrency
        self.tasks: set[asyncio.Task[None]] = set()
        self._runner = runner
        self._holdings = holdings
        self._job_delay = job_delay
        self._stopping = stopping
        self._freed = freed

    @property
    def free(self) -> int:
        """Slots to fill. What waits to be written is still held, and counts too, lest a slow store pile it up."""
        return min(self.concurrency - len(self.tasks), 2 * self.concurrency - len(self._holdings))

    @property
    def held(self) -> int:
        """How many claims are held: by a handler that runs, or until their outcome is written."""
        return len(self._holdings)

    def begin(self, records: Sequence[Record], sent: float) -> None:
        """Run the handlers of jobs that a request sent at that time has claimed."""
        holdings = self._runner.hold(records, sent)
        if self._stopping.is_set():  # claimed while the order to stop came in
            for holding in holdings:
                self._runner.give_back(holding)
            return
        create_task = asyncio.get_running_loop().create_task
        tasks = [create_task(self._occupy(holding), name=holding.record.type) for holding in holdings]
        # One may be done already, where the application has its loop start tasks eagerly.
        self.tasks.update(task for task in tasks if not task.done())

    async def _occupy(self, holding: Holding) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            await self._runner.run(holding, task)
        except BaseException:
            # Nobody will settle it. No longer renewed, its lease runs out and it is taken back.
            self._holdings.remove(holding)
            task.add_done_callback(_mourn)
            raise
        else:
            if self._job_delay:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), self._job_delay)
        finally:
            # Here and not in a callback, which for every job would cost as much as its task.
            self.tasks.discard(task)
            self._freed()


def _mourn(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        log.error("an attempt broke in the engine itself", exc_info=task.exception())
