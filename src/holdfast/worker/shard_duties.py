"""The parts of a worker that work on one shard: the renewer, lease guard, pruner, ticker and reporter.

A store without shards counts as one shard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack

from holdfast.core.retry import Retry
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.observers import Observers
from holdfast.engine.store import Store
from holdfast.registry.jobs import Jobs
from holdfast.worker.held_claims import HeldClaims
from holdfast.worker.lease_guard import LeaseGuard
from holdfast.worker.lease_renewer import LeaseRenewer
from holdfast.worker.polling import Polling
from holdfast.worker.pruner import Pruner
from holdfast.worker.reporter import Reporter
from holdfast.worker.stagger import Stagger
from holdfast.worker.ticker import Ticker


class ShardDuties:
    """The parts for one shard. They are separate, so that a shard that does not answer does not delay the others."""

    def __init__(
        self,
        shard: Store,
        claims: HeldClaims,
        jobs: Jobs,
        row: WorkerRecord,
        observers: Observers,
        *,
        recovery: Retry,
        polling: Polling,
        shortest_lease: float,
        renew_interval: float,
        drain: Callable[[], None],
        stagger: Stagger,
    ) -> None:
        self._shard = shard
        self.reporter = Reporter(shard, row, observers, recovery, drain=drain, stagger=stagger)
        self.renewer = LeaseRenewer(shard, claims, observers, row.id, shortest=shortest_lease, interval=renew_interval)
        self._ticker = Ticker(
            shard, jobs, observers, row.id, polling=polling, recovery=recovery, reported=self.reporter.reported
        )
        self._lease_guard = LeaseGuard(shard, claims, shortest=shortest_lease)
        self._pruner = Pruner(shard, observers, row.id)

    def subscribe(self, subscriptions: ExitStack) -> None:
        """Subscribe the parts to the wake-ups of the shard."""
        for receive in (self.renewer.receive, self.reporter.receive, self._ticker.receive):
            subscriptions.callback(self._shard.wakeups.subscribe(receive))

    def start(self, *, ticks: bool) -> list[asyncio.Task[None]]:
        """Start the parts that run until they are cancelled: lease guard, pruner and, with `ticks`, the ticker.

        The caller starts the thread of the renewer, and the reporter.
        """
        parts = [
            asyncio.create_task(self._lease_guard.run(), name="holdfast-lease_guard"),
            asyncio.create_task(self._pruner.run(), name="holdfast-pruner"),
        ]
        if ticks:
            parts.append(asyncio.create_task(self._ticker.run(), name="holdfast-ticker"))
        return parts
