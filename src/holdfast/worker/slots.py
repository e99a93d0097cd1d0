"""The slots of a worker: a task for each attempt, as many at once as the worker may run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from holdfast.core.record import Record
from holdfast.engine.interruption import ends_task
from holdfast.engine.observers import log
from holdfast.worker.held_claims import Holding, Holdings
from holdfast.worker.runner import Run, Runner


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
        """Run one attempt, stage by stage. This is the outermost coroutine of its task."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        run, runner = Run(task), self._runner
        try:
            try:
                await runner.call(holding, run)
            except GeneratorExit as error:  # thrown by the event loop: `call` has noted the outcome
                if ends_task(error, task):
                    raise
            if task.cancelling():
                await _take_back_cancels(task)
            runner.decide(holding, run)
            if holding.terms.type.conclude is not None:
                try:
                    await runner.conclude(holding, run)
                except BaseException as error:
                    if ends_task(error, task):
                        raise
                    log.error(
                        "the hook of %r raised; its job is settled without it", holding.record.type, exc_info=error
                    )
            if run.has_transaction:
                await runner.end_transaction(holding, run)
            else:
                runner.write(holding, run)
            if run.interrupt is not None:
                raise run.interrupt
            if self._job_delay:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), self._job_delay)
        except BaseException as error:
            # The attempt is not settled. Without renewals its lease runs out, and the reaper returns the job.
            self._holdings.remove(holding)
            if ends_task(error, task):
                raise
            log.error("an attempt broke in the engine itself", exc_info=error)
        finally:
            # Here and not in a callback, which for every job would cost as much as its task.
            self.tasks.discard(task)
            self._freed()


async def _take_back_cancels(task: asyncio.Task[None]) -> None:
    """The task goes on after its handler. A cancellation that was requested and not yet delivered is delivered here."""
    while task.cancelling():
        task.uncancel()
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
