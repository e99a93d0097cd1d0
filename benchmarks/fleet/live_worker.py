"""A process of a live fleet: one or several workers, each with its own connections.

The parent writes a line to the standard input, and the process answers with what happened since the line before.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from holdfast import Client, Jobs, Worker
from holdfast.engine.operations import ClaimJobs, Operation
from holdfast.engine.wakeups import Hints

R = TypeVar("R")


class Measured:
    """What the workers of this process did since the last report."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.delays: list[float] = []
        """Seconds from each start to the beginning of its handler."""
        self._used = time.process_time()

    def take(self) -> dict[str, Any]:
        used = time.process_time()
        report = {"counts": dict(self.counts), "delays": self.delays, "cpu": used - self._used}
        self.counts, self.delays, self._used = Counter(), [], used
        return report

    def counted(self, store: Any) -> None:
        """Count the operations and the received hints of a store."""
        perform, perform_sync = store.perform, store.perform_sync

        async def count(operation: Operation[R], /) -> R:
            answer: R = await perform(operation)
            self._count(operation, answer)
            return answer

        def count_sync(operation: Operation[R], /) -> R:
            answer: R = perform_sync(operation)
            self._count(operation, answer)
            return answer

        def receive(hints: Hints) -> None:
            self.counts["received"] += 1

        store.perform, store.perform_sync = count, count_sync
        store.wakeups.subscribe(receive)

    def _count(self, operation: Operation[Any], answer: Any) -> None:
        self.counts[operation.verb] += 1
        if isinstance(operation, ClaimJobs) and not answer:
            self.counts["empty"] += 1


def registry(measured: Measured) -> Jobs:
    jobs = Jobs()

    @jobs.job(name="work", keep=0)
    async def work(sent: float, seconds: float) -> None:
        measured.delays.append(time.time() - sent)
        if seconds:
            await asyncio.sleep(seconds)

    return jobs


async def run(url: str, workers: int) -> None:
    measured = Measured()
    jobs = registry(measured)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as running:
        tasks: list[asyncio.Task[None]] = []
        for _ in range(workers):
            client = await stack.enter_async_context(Client(url, jobs))
            measured.counted(client.store)
            tasks.append(running.create_task(Worker(client).run(signals=False)))
        print(json.dumps("ready"), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(measured.take()), flush=True)
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], int(sys.argv[2])))
