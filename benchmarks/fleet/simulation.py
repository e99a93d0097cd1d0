"""Simulates a fleet: producers start jobs at a rate, workers run them, and everything is counted."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from benchmarks.fleet.bus import Bus, ProcessWakeups
from benchmarks.fleet.costs import StoreCosts
from benchmarks.fleet.server import Server, ServerConnection
from holdfast import Client, Jobs, Worker
from holdfast.engine import hint_buffer
from holdfast.stores.memory import MemoryStore
from holdfast.worker import pruner, reaper
from torture.simulation.loop import SimulatedLoop
from torture.simulation.patches import simulated

PRODUCERS = 20
KEEP = 30.0
"""Seconds that a finished job is kept, so that the simulation needs little memory."""
WARM_UP = 3.0
"""Virtual seconds in which the workers start, before anything is counted."""

pruner_every, reap_every = pruner.EVERY, reaper.REAP_EVERY


@dataclass(frozen=True, slots=True)
class Plan:
    workers: int = 1000
    rate: float = 100_000_000 / 86_400
    """Jobs per second."""
    seconds: float = 600.0
    concurrency: int = 10
    handler: float = 0.2
    """The mean duration of a handler in seconds, with an exponential distribution."""
    cores: int = 8
    """Cores of the server, for a store that uses several."""
    seed: int = 1


@dataclass(slots=True)
class Counts:
    started: int = 0
    finished: int = 0
    delay: float = 0.0
    """The sum of the seconds between each start and the beginning of its handler."""
    longest_delay: float = 0.0


@dataclass(frozen=True, slots=True)
class FleetReport:
    plan: Plan
    store: str
    counts: Counts
    calls: dict[str, int]
    claims: int
    empty_claims: int
    claimed_together: float
    messages: int
    deliveries: int
    connections: int
    """Of all processes: the most calls at once of each, and one listener for each worker."""
    server_load: float
    """The share of the server's cores that was used."""
    longest_wait: float


class Fleet:
    """One simulation. All processes run in one event loop with a virtual clock."""

    def __init__(self, plan: Plan, costs: StoreCosts, *, until: float = float("inf")) -> None:
        self.plan = plan
        self._until = until
        """The real time of `time.monotonic` at which the simulation ends, even if the plan has not."""
        self.loop = SimulatedLoop()
        self.server = Server(MemoryStore(clock=self.loop.micros), costs, plan.cores)
        self.bus = Bus()
        self.counts = Counts()
        self._random = random.Random(plan.seed)
        self._connections: list[ServerConnection] = []
        self._sent: dict[int, float] = {}

    def run(self, emit: Callable[[float], None] = lambda seconds: None) -> FleetReport:
        logger = logging.getLogger("holdfast")
        level = logger.level
        logger.setLevel(logging.CRITICAL + 1)
        asyncio.set_event_loop(self.loop)
        buffers: Any = hint_buffer
        before = buffers.time
        try:
            with simulated(self.loop, self.plan.seed, reap=reap_every):
                pruner.EVERY = pruner_every
                buffers.time = SimpleNamespace(monotonic=self.loop.time)
                return self.loop.run_until_complete(self._main(emit))
        finally:
            buffers.time = before
            logger.setLevel(level)
            asyncio.set_event_loop(None)
            self.loop.close()

    async def _main(self, emit: Callable[[float], None]) -> FleetReport:
        jobs = self._jobs()
        workers = [
            Worker(Client(self._connect(), jobs), worker_id=f"worker-{number}", concurrency=self.plan.concurrency)
            for number in range(self.plan.workers)
        ]
        running = [asyncio.create_task(worker.run(signals=False)) for worker in workers]
        await asyncio.sleep(WARM_UP)
        for task in running:
            if task.done():
                task.result()
        self._reset()
        begun = self.loop.time()
        producers = [
            asyncio.create_task(self._produce(Client(self._connect(), jobs), jobs, begun)) for _ in range(PRODUCERS)
        ]
        while self.loop.time() < begun + self.plan.seconds:
            await asyncio.sleep(min(10.0, begun + self.plan.seconds - self.loop.time()))
            emit(self.loop.time() - begun)
            if time.monotonic() > self._until:
                self.plan = replace(self.plan, seconds=self.loop.time() - begun)
                break
        report = self._report()
        for task in (*producers, *running):
            task.cancel()
        await asyncio.wait([*producers, *running], timeout=60)
        return report

    def _connect(self) -> ServerConnection:
        connection = ServerConnection(self.server, ProcessWakeups(self.bus))
        self._connections.append(connection)
        return connection

    def _jobs(self) -> Jobs:
        jobs = Jobs()
        counts, sent, clock = self.counts, self._sent, self.loop.time
        draw, mean = self._random.expovariate, self.plan.handler

        @jobs.job(keep=KEEP)
        async def work(number: int) -> None:
            delay = clock() - sent.pop(number)
            counts.delay += delay
            counts.longest_delay = max(counts.longest_delay, delay)
            await asyncio.sleep(draw(1 / mean))
            counts.finished += 1

        return jobs

    async def _produce(self, client: Client, jobs: Jobs, begun: float) -> None:
        """Start jobs at a share of the rate, by a Poisson process. A slow answer does not delay the next start."""
        work = jobs["work"]
        at = begun
        async with asyncio.TaskGroup() as starts:
            while True:
                at += self._random.expovariate(self.plan.rate / PRODUCERS)
                await asyncio.sleep(max(0.0, at - self.loop.time()))
                number = self.counts.started
                self.counts.started += 1
                self._sent[number] = self.loop.time()
                starts.create_task(client.start(work.bind(number)))

    def _reset(self) -> None:
        self.server.calls.clear()
        self.server.jobs.clear()
        self.server.empty_claims = 0
        self.server.busy = self.server.longest_wait = 0.0
        self.bus.messages = self.bus.deliveries = 0

    def _report(self) -> FleetReport:
        server, claims = self.server, self.server.calls["claim"]
        full = claims - server.empty_claims
        return FleetReport(
            plan=self.plan,
            store=server.costs.store,
            counts=self.counts,
            calls=dict(server.calls.most_common()),
            claims=claims,
            empty_claims=server.empty_claims,
            claimed_together=server.jobs["claim"] / full if full else 0.0,
            messages=self.bus.messages,
            deliveries=self.bus.deliveries,
            connections=sum(each.most for each in self._connections) + self.plan.workers,
            server_load=server.busy / (self.plan.seconds * server.cores),
            longest_wait=server.longest_wait,
        )
