"""Holdfast with limits and orders, in a registry of its own: the other scenarios measure types without limits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from benchmarks.contender import Unsupported
from benchmarks.ours import BEST, Ours
from benchmarks.ticks import tick
from holdfast import Client, Jobs, Limit, Order, Worker
from holdfast.core.ids import new_token
from holdfast.engine.operations import ClaimJobs, TypeTerms

JOBS_PER_LANE = 10
CLAIMS = 100
CLAIM_LIMIT = 10
SERIES = 5
"""Of which the fastest counts: after many starts the server still works on its tables, its files and its memory."""
LEASE = 3_600_000_000
"""An hour, so that no lease ends during a run."""

flow = Jobs(name="flow")
gpu = Limit("gpu", 1)


@flow.job
async def free(number: int) -> int:
    tick()
    return number + 1


@flow.job(limits=[Limit("lane", 1, by="lane")])
async def limited(number: int, lane: int) -> int:
    tick()
    return number + 1


@flow.job(limits=[Order("account", by="lane")])
async def ordered(number: int, lane: int) -> int:
    tick()
    return number + 1


@flow.job(limits=[Limit("two", 2)])
async def capped(number: int) -> int:
    tick()
    return number + 1


@flow.job(limits=[gpu])
async def render(number: int) -> int:
    tick()
    return number + 1


@flow.job(limits=[Limit("customer", 1, by="customer"), gpu])
async def render_for(number: int, customer: int) -> int:
    tick()
    return number + 1


class OursFlow(Ours):
    name = "Holdfast, limits"
    about = {store: about for store, about in Ours.about.items() if store != "memory"}  # noqa: RUF012
    only = frozenset({"lanes", "keyed", "capped"})
    keyed = 20_000
    capped = 1_000

    async def setup(self) -> None:
        async with Client(self.address, flow, migrate=True):
            pass

    async def open(self) -> None:
        self.client = Client(self.address, flow)
        await self.client.open()

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        """`limited 1000` and `ordered 1000` are jobs in this many lanes, in turn."""
        name, _, lanes = kind.partition(" ")
        match name:
            case "plain":
                await self.client.start_many([free.bind(number) for number in numbers])
            case "limited" | "keyed":
                await self.client.start_many([limited.bind(number, number % int(lanes)) for number in numbers])
            case "capped":
                await self.client.start_many([capped.bind(number) for number in numbers])
            case "ordered":
                await self.client.start_many([ordered.bind(number, number % int(lanes)) for number in numbers])
            case _:
                raise Unsupported(f"no {kind} jobs")
        return len(numbers)

    async def work(self, slots: int | None) -> None:
        self.client = Client(self.address, flow)
        async with self.client:
            await Worker(self.client, concurrency=slots or BEST[self.place.store]).run()

    async def alone(self, what: str, count: int) -> float:
        """How much longer a claim takes beside `count` jobs that wait for a full lane."""
        async with Client(self.address, flow, migrate=True) as client:
            before = await _claim_seconds(client)
            await client.start(render.bind(0))
            await _claim(client, 1)
            for first in range(0, count, 5000):
                numbers = range(first, min(first + 5000, count))
                if what == "full lane":
                    await client.start_many([render.bind(number) for number in numbers])
                else:
                    bound = [render_for.bind(number, number // JOBS_PER_LANE) for number in numbers]
                    await client.start_many(bound)
            await _claim_all(client)
            return await _claim_seconds(client) / before


async def _claim_seconds(client: Client) -> float:
    """The median time of a claim of jobs without limits, in the fastest series."""
    return min([await _series_seconds(client) for _ in range(SERIES)])


async def _series_seconds(client: Client) -> float:
    await client.start_many([free.bind(number) for number in range((CLAIMS + 1) * CLAIM_LIMIT)])
    times: list[float] = []
    for _ in range(CLAIMS):
        begun = time.perf_counter()
        claimed = await _claim(client, CLAIM_LIMIT)
        times.append(time.perf_counter() - begun)
        assert claimed == CLAIM_LIMIT
    await _claim_all(client)
    return median(times)


async def _claim_all(client: Client) -> None:
    """Until nothing is left to claim, so that the stored state of the lanes is up to date."""
    while await _claim(client, 1000):
        pass


async def _claim(client: Client, limit: int) -> int:
    terms = tuple(TypeTerms(name, LEASE, 25) for name in ("free", "limited", "ordered", "render", "render_for"))
    claimed = await client.store.perform(ClaimJobs(terms, limit, "benchmark", new_token()))
    return len(claimed)
