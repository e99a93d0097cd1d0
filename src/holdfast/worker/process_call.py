"""A handler's call in a child process."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast.core.job import Job
from holdfast.core.lifecycle import Settlement
from holdfast.engine.operations import Settled
from holdfast.engine.store import Store, SyncTransaction
from holdfast.registry.jobs import Jobs
from holdfast.worker.completion_rules import Work
from holdfast.worker.held_claims import Holding
from holdfast.worker.middleware import Middleware
from holdfast.worker.processes import Processes
from holdfast.worker.sync_attempt import SyncAttempt


class ProcessCall:
    """A plain handler, in a child process. There it has no attempt, and so no transaction of its own."""

    def __init__(
        self,
        holding: Holding,
        *,
        store: Store,
        jobs: Jobs,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
        processes: Processes,
    ) -> None:
        self.work: Work[SyncTransaction] = Work(holding.record, holding.type)
        # What middlewares see; it stays in this process.
        self.attempt = SyncAttempt(
            Job(holding.record, jobs),
            store=store,
            jobs=jobs,
            work=self.work,
            signal=holding.signal,
            blockers=blockers,
            middlewares=middlewares,
            loop=asyncio.get_running_loop(),
        )
        self._holding = holding
        self._processes = processes

    async def run(self) -> Any:
        return await self._processes.call(self._holding)

    async def commit(self, settlement: Settlement) -> Settled:
        raise AssertionError("a handler in another process opens no transaction")

    async def roll_back(self) -> None:
        """There is none."""
