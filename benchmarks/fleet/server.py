"""The simulated server: operations wait for a free core, and use it for as long as they cost."""

from __future__ import annotations

import asyncio
from collections import Counter
from heapq import heapify, heapreplace
from typing import Any, TypeVar

from benchmarks.fleet.costs import StoreCosts
from holdfast.engine.operations import ClaimJobs, Operation, Settle, Start
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Wakeups
from holdfast.stores.buffered_transaction import BufferedSyncTransaction, BufferedTransaction
from holdfast.stores.memory import MemoryStore

R = TypeVar("R")


class Server:
    """The cores of the server, and what was done with them."""

    def __init__(self, inner: MemoryStore, costs: StoreCosts, cores: int) -> None:
        self.inner = inner
        self.costs = costs
        self.cores = 1 if costs.single else cores
        self.calls: Counter[str] = Counter()
        self.jobs: Counter[str] = Counter()
        self.empty_claims = 0
        self.busy = 0.0
        """Seconds that all cores worked."""
        self.longest_wait = 0.0
        self._free = [0.0] * self.cores
        heapify(self._free)

    def perform(self, operation: Operation[R], wakeups: Wakeups) -> tuple[R, float]:
        """Perform an operation. Its hints are sent by these wake-ups. Returns the answer, and the seconds it takes."""
        self.inner.wakeups = wakeups
        answer = self.inner.perform_sync(operation)
        jobs = _jobs(operation, answer)
        self.calls[operation.verb] += 1
        self.jobs[operation.verb] += jobs
        self.empty_claims += isinstance(operation, ClaimJobs) and jobs == 0
        cost = self.costs.seconds(operation, jobs)
        now = asyncio.get_running_loop().time()
        begin = max(now, self._free[0])
        heapreplace(self._free, begin + cost)
        self.busy += cost
        self.longest_wait = max(self.longest_wait, begin - now)
        return answer, begin + cost - now


class ServerConnection(Store):
    """The connections of one process to the server."""

    def __init__(self, server: Server, wakeups: Wakeups) -> None:
        self.name = server.inner.name
        self.clock = server.inner.clock
        self.wakeups = wakeups
        self.most = 0
        """The most calls that were in progress at once: the connections that the pool would open."""
        self._server = server
        self._now = 0

    async def perform(self, operation: Operation[R], /) -> R:
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            answer, seconds = self._server.perform(operation, self.wakeups)
            await asyncio.sleep(seconds + self._server.costs.round_trip)
        finally:
            self._now -= 1
        return answer

    def perform_sync(self, operation: Operation[R], /) -> R:
        """The renewer and the lease guard call this. The simulated time does not pass in a blocking call."""
        return self._server.perform(operation, self.wakeups)[0]

    async def begin(self) -> BufferedTransaction:
        return BufferedTransaction(self)

    def begin_sync(self) -> BufferedSyncTransaction:
        return BufferedSyncTransaction(self)

    def join(self, tx: Any) -> Any:
        return self._server.inner.join(tx)

    def join_sync(self, tx: Any) -> Any:
        return self._server.inner.join_sync(tx)

    async def open(self) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""

    def open_sync(self) -> None:
        """Does nothing."""

    def close_sync(self) -> None:
        """Does nothing."""

    async def migrate(self) -> list[str]:
        return []

    def migrate_sync(self) -> list[str]:
        return []


def _jobs(operation: Operation[Any], answer: Any) -> int:
    match operation:
        case Start(jobs=jobs):
            return len(jobs)
        case ClaimJobs():
            return len(answer)
        case Settle(settlements=settlements):
            return len(settlements)
        case _:
            return 0
