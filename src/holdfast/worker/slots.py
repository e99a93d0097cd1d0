"""The slots of a worker: a task for each attempt, as many at once as the worker may run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from holdfast.core.record import Record
from holdfast.engine.interruption import ends_task
from holdfast.engine.observers import log
from holdfast.worker.attempt_run import AttemptRun
from holdfast.worker.held_claims import HeldClaim, HeldClaims
from holdfast.worker.runner import Runner


class Slots:
    """Runs attempts concurrently. `freed` is called when an attempt has ended and its slot is free."""

    def __init__(
        self,
        runner: Runner,
        held_claims: HeldClaims,
        *,
        concurrency: int,
        job_delay: float,
        stopping: asyncio.Event,
        freed: Callable[[], None],
    ) -> None:
        self.concurrency = concurrency
        self.tasks: set[asyncio.Task[None]] = set()
        self._runner = runner
        self._held_claims = held_claims
        self._job_delay = job_delay
        self._stopping = stopping
        self._freed = freed

    @property
    def free(self) -> int:
        """Slots to fill. Claims with unwritten settlements count too, so that they do not pile up on a slow store."""
        return min(self.concurrency - len(self.tasks), 2 * self.concurrency - len(self._held_claims))

    @property
    def held(self) -> int:
        """How many claims are held: their handler runs, or their settlement is not written yet."""
        return len(self._held_claims)

    def begin(self, records: Sequence[Record], sent: float) -> None:
        """Run the handlers of claimed jobs. `sent` is the time of the claim request."""
        held_claims = self._runner.hold(records, sent)
        if self._stopping.is_set():  # claimed while the worker was stopped
            for held_claim in held_claims:
                self._runner.give_back(held_claim)
            return
        create_task = asyncio.get_running_loop().create_task
        tasks = [create_task(self._run_attempt(each), name=each.record.type) for each in held_claims]
        # With an eager task factory, a task may have ended already.
        self.tasks.update(task for task in tasks if not task.done())

    async def _run_attempt(self, held_claim: HeldClaim) -> None:
        """Run one attempt, stage by stage. This is the outermost coroutine of its task."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        run, runner = AttemptRun(task), self._runner
        try:
            try:
                await runner.call(held_claim, run)
            except GeneratorExit as error:  # thrown by the event loop: `call` has noted the outcome
                if ends_task(error, task):
                    raise
            if task.cancelling():
                await _discard_cancellations(task)
            runner.decide(held_claim, run)
            if held_claim.options.type.conclude is not None:
                try:
                    await runner.conclude(held_claim, run)
                except BaseException as error:
                    if ends_task(error, task):
                        raise
                    log.error(
                        "the hook of %r raised; its job is settled without it", held_claim.record.type, exc_info=error
                    )
            if run.has_transaction:
                await runner.end_transaction(held_claim, run)
            else:
                runner.write(held_claim, run)
            if run.interrupt is not None:
                raise run.interrupt
            if self._job_delay:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), self._job_delay)
        except BaseException as error:
            # The attempt is not settled. Without renewals its lease expires, and the reaper returns the job to pending.
            self._held_claims.remove(held_claim)
            if ends_task(error, task):
                raise
            log.error("an attempt broke in the engine itself", exc_info=error)
        finally:
            # Not in a done callback: that would cost as much per job as its task.
            self.tasks.discard(task)
            self._freed()


async def _discard_cancellations(task: asyncio.Task[None]) -> None:
    """Discard cancellations of the handler, since its task continues. A cancellation still in delivery arrives here."""
    while task.cancelling():
        task.uncancel()
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
