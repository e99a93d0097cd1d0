"""The call of a handler in a child process."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast.core.job import Job
from holdfast.core.lifecycle import Settlement
from holdfast.engine.operations import Settled
from holdfast.engine.store import Store, SyncTransaction
from holdfast.registry.jobs import Jobs
from holdfast.worker.completion_rules import CompletionState
from holdfast.worker.held_claims import HeldClaim
from holdfast.worker.middleware import Middleware
from holdfast.worker.processes import Processes
from holdfast.worker.sync_attempt import SyncAttempt


class ProcessCall:
    """A plain handler, in a child process. It gets no attempt there, so it opens no transaction."""

    def __init__(
        self,
        held_claim: HeldClaim,
        *,
        store: Store,
        jobs: Jobs,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
        processes: Processes,
    ) -> None:
        self.completion: CompletionState[SyncTransaction] = CompletionState(held_claim.record, held_claim.type)
        # For the middlewares, which run in this process.
        self.attempt = SyncAttempt(
            Job(held_claim.record, jobs),
            store=store,
            jobs=jobs,
            completion=self.completion,
            signal=held_claim.signal,
            blockers=blockers,
            middlewares=middlewares,
            loop=asyncio.get_running_loop(),
        )
        self._held_claim = held_claim
        self._processes = processes

    async def run(self) -> Any:
        return await self._processes.call(self._held_claim)

    async def commit(self, settlement: Settlement) -> Settled:
        raise AssertionError("a handler in another process opens no transaction")

    async def roll_back(self) -> None:
        """Nothing to do: there is no transaction."""
