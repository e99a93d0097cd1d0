"""The consumer of a queue: the worker that runs its jobs in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from holdfast.client.client import Client
from holdfast.core.failure import message_of
from holdfast.core.lifecycle import Outcome, Settlement
from holdfast.core.record import Record
from holdfast.core.retry import Seconds
from holdfast.engine.observers import log
from holdfast.queue.after_execution import AfterExecution, Hook
from holdfast.queue.callbacks import Callbacks
from holdfast.queue.event_relay import Relay
from holdfast.queue.queue_type import QueueType
from holdfast.registry.options import check_duration
from holdfast.worker import Middleware, Worker


class Consumer:
    """Runs the jobs of a queue with one worker at a time, and calls the hook before each result is stored."""

    def __init__(
        self,
        client: Client,
        type: QueueType,
        *,
        relay: Relay,
        callbacks: Callbacks,
        after_execution: Hook | None,
        concurrency: int,
        grace: Seconds,
        poll_interval: Seconds,
        worker_id: str | None,
        middlewares: Iterable[Middleware],
        mismatch_timeout: Seconds,
    ) -> None:
        # Checked here too, not only when the worker is created: the error then shows the line of the mistake.
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {concurrency}")
        check_duration("grace", grace, zero=True)
        check_duration("poll_interval", poll_interval)
        check_duration("mismatch_timeout", mismatch_timeout, zero=True)
        self._client = client
        self._type = type
        self._relay = relay
        self._callbacks = callbacks
        self._after = None if after_execution is None else AfterExecution(type, after_execution, self._report)
        self._concurrency = concurrency
        self._grace = grace
        self._poll_interval = poll_interval
        self._worker_id = worker_id
        self._middlewares = tuple(middlewares)
        self._mismatch_timeout = mismatch_timeout
        self._worker: Worker | None = None
        """The current or last worker. The outcomes of its last attempts may still be unwritten."""
        self._at_work = False
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        type.conclude = self._conclude

    def begin(self) -> None:
        """Run jobs in the background until `end`. Does nothing if they run already."""
        if not self._at_work:
            self._stopping = asyncio.Event()
            work = self._work(self._new_worker(), self._stopping)
            self._task = asyncio.create_task(work, name=f"holdfast-queue-{self._type.queue}")

    async def end(self) -> None:
        """Claim no more jobs, and wait until the running ones are finished or, after the grace period, released."""
        self._at_work = False
        task, self._task = self._task, None
        self._stopping.set()
        if task is not None:
            await task

    async def run(self) -> None:
        """Run jobs until this task is cancelled, or the process receives SIGTERM or SIGINT."""
        await self._new_worker().run()

    def _new_worker(self) -> Worker:
        self._worker = Worker(
            self._client, types=[self._type], concurrency=self._concurrency, grace=self._grace,
            poll_interval=self._poll_interval, worker_id=self._worker_id, middlewares=self._middlewares,
            mismatch_timeout=self._mismatch_timeout,
        )  # fmt: skip
        self._at_work = True
        return self._worker

    async def _work(self, worker: Worker, stopping: asyncio.Event) -> None:
        try:
            async with worker:
                await stopping.wait()
        except Exception as error:
            self._report(error)
            raise

    async def _conclude(self, record: Record, outcome: Outcome, settlement: Settlement) -> Settlement:
        if self._after is not None:
            settlement = await self._after(record, outcome, settlement)
        # Otherwise another worker of the application runs the job. Its events go to its own observers.
        if self._worker is not None and record.worker == self._worker.id:
            self._relay.expect(record, settlement)
        return settlement

    def _report(self, error: BaseException) -> None:
        log.error("queue %r: %s", self._type.queue, message_of(error), exc_info=error)
        self._callbacks.emit("error", error)
