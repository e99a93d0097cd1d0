"""The health endpoint of a single worker, with the same paths as that of a supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import Self

from holdfast.client.client import Client
from holdfast.supervisor.backlog import Backlog
from holdfast.supervisor.endpoint import Endpoint
from holdfast.supervisor.exporting import Exporter
from holdfast.supervisor.metrics import GroupState
from holdfast.worker import Worker

REFRESH = 1.0
"""Seconds between two reads of the backlog: requests within this time share one."""
READ_TIMEOUT = 2.0
"""Seconds that the store has to answer, less than the endpoint has."""


class WorkerHealth:
    """Serves the health of a worker while it is entered: ``async with WorkerHealth(worker, client, listen)``.

    The store is read only when a request asks for the backlog, the metrics or the readiness. The endpoint runs on the
    event loop of the worker: a handler that blocks the event loop delays the answer.
    """

    def __init__(
        self,
        worker: Worker,
        client: Client,
        listen: tuple[str, int],
        *,
        group: str = "default",
        exporter: Exporter | None = None,
    ) -> None:
        self._worker = worker
        self._group = group
        self.backlog = Backlog(client.store, worker.types, observers=client.observers, shared=True)
        self.endpoint = Endpoint(self, listen, exporter)
        self._read = -REFRESH
        self._reading: asyncio.Task[object] | None = None

    async def __aenter__(self) -> Self:
        """Listen. Raises OSError if the address is in use."""
        await self.endpoint.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.endpoint.close()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self.backlog.close()

    @property
    def alive(self) -> bool:
        """Always true: the endpoint answers, so the event loop of the worker runs."""
        return True

    @property
    def ready(self) -> bool:
        """Whether the worker claims jobs and the store answers."""
        return self._worker.claiming and self.backlog.last is not None

    def groups(self) -> Sequence[GroupState]:
        worker = self._worker
        claiming = int(worker.claiming)
        return [
            GroupState(
                name=self._group, types=worker.types, wanted=1, processes=1, ready=claiming, draining=1 - claiming,
                busy=worker.busy, slots=claiming * worker.concurrency, restarts=0,
            )
        ]  # fmt: skip

    async def refresh(self) -> None:
        """Read the backlog, unless it was read just now. It is unknown while the store does not answer."""
        if self._reading is None or (self._reading.done() and monotonic() - self._read >= REFRESH):
            self._read = monotonic()
            self.backlog.follow(self._worker.types)  # a wake-up reports due jobs, but not the number of running ones
            self._reading = asyncio.create_task(self.backlog.read())
        await asyncio.wait([self._reading], timeout=READ_TIMEOUT)
        if not self._reading.done():
            self.backlog.last = None
