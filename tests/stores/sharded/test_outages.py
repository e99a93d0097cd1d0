"""A shard that does not answer: the others continue, calls that concern it raise, and it is served again later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from holdfast import Client, Jobs, StoreUnavailable, Worker
from holdfast.core.record import Status
from holdfast.stores.memory import MemoryStore
from tests.worker.faulty_store import FaultyStore


class Site:
    """A client with two shards that can fail."""

    def __init__(self) -> None:
        self.eu, self.us = FaultyStore(MemoryStore()), FaultyStore(MemoryStore())
        self.jobs = Jobs()
        self.ran: list[int] = []
        self.release = asyncio.Event()
        self.entered = asyncio.Event()

        @self.jobs.job
        async def quick(number: int) -> int:
            self.ran.append(number)
            return number

        @self.jobs.job(lease=60, renew_interval=0.1)
        async def slow() -> str:
            self.entered.set()
            await self.release.wait()
            return "done"

        self.quick, self.slow = quick, slow
        self.client = Client({"eu": self.eu, "us": self.us}, self.jobs)


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    site = Site()
    async with site.client:
        yield site


async def test_the_jobs_of_the_other_shard_run(site: Site) -> None:
    waiting = await site.client.start(site.quick.bind(0), shard="eu")
    outage = site.eu.fail(times=None)

    async with Worker(site.client, concurrency=2):
        for number in range(1, 30):
            chain = await site.client.start(site.quick.bind(number), shard="us")
            assert await site.client.wait(chain, timeout=60) == number
        assert 0 not in site.ran
        outage.end()
        assert await site.client.wait(waiting, timeout=60) == 0


async def test_calls_that_concern_the_lost_shard_raise(site: Site) -> None:
    chain = await site.client.start(site.quick.bind(0), shard="eu")
    site.eu.fail(times=None)

    for call in (
        lambda: site.client.get(chain.id),
        lambda: site.client.start(site.quick.bind(1), shard="eu"),
        lambda: site.client.stats(),
        lambda: site.client.list_chains(),
        lambda: site.client.pause("quick"),
    ):
        with pytest.raises(StoreUnavailable):
            await call()


async def test_free_chains_go_to_the_shards_that_answer(site: Site) -> None:
    site.eu.fail(times=None)
    with pytest.raises(StoreUnavailable):
        await site.client.start(site.quick.bind(1), shard="eu")

    chains = [await site.client.start(site.quick.bind(number)) for number in range(20)]

    assert {chain.id.partition("~")[0] for chain in chains} == {"us"}


async def test_a_settlement_for_the_lost_shard_delays_no_other(site: Site) -> None:
    held = await site.client.start(site.slow.bind(), shard="eu")
    async with Worker(site.client, concurrency=2):
        await site.entered.wait()
        outage = site.eu.fail("settle", times=None)
        site.release.set()
        await _until(lambda: _met(outage.met > 0))
        for number in range(20):
            chain = await site.client.start(site.quick.bind(number), shard="us")
            assert await site.client.wait(chain, timeout=60) == number
        outage.end()
        assert await site.client.wait(held, timeout=60) == "done"


async def test_a_renewal_that_hangs_on_one_shard_delays_no_other(site: Site) -> None:
    jobs_held = [await site.client.start(site.slow.bind(), shard=name) for name in ("eu", "us")]
    async with Worker(site.client, concurrency=2):
        await _until(lambda: _running(site, 2))
        site.eu.hold.clear()  # blocking calls of this shard do not return: its renewer hangs
        before = site.us.count("renew")
        await _until(lambda: _met(site.us.count("renew") > before + 1))
        site.eu.hold.set()
        site.release.set()
        assert [await site.client.wait(chain, timeout=60) for chain in jobs_held] == ["done", "done"]


async def test_a_claim_whose_answer_was_lost_on_one_shard_is_repeated(site: Site) -> None:
    site.eu.fail("claim", when="after", times=1)
    chain = await site.client.start(site.quick.bind(7), shard="eu")

    async with Worker(site.client, lease=300, types=["quick"]):
        assert await site.client.wait(chain, timeout=60) == 7

    assert site.ran == [7]


async def test_a_client_opens_while_a_shard_is_down() -> None:
    class Down(FaultyStore):
        down = True

        async def open(self) -> None:
            if self.down:
                raise StoreUnavailable(self.name, "no connection")

    eu, us = Down(MemoryStore()), MemoryStore()
    jobs = Jobs()

    @jobs.job
    async def quick() -> str:
        return "done"

    async with Client({"eu": eu, "us": us}, jobs) as client, Worker(client):
        assert await client.wait(await client.start(quick.bind(), shard="us"), timeout=60) == "done"
        with pytest.raises(StoreUnavailable):
            await client.start(quick.bind(), shard="eu")
        eu.down = False
        assert await client.wait(await client.start(quick.bind(), shard="eu"), timeout=60) == "done"


async def test_a_client_does_not_open_if_every_shard_is_down() -> None:
    class Down(FaultyStore):
        async def open(self) -> None:
            raise StoreUnavailable(self.name, "no connection")

    with pytest.raises(StoreUnavailable):
        await Client({"eu": Down(MemoryStore()), "us": Down(MemoryStore())}).open()


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 - the state sends no event
            await asyncio.sleep(0.01)


async def _met(value: bool) -> bool:
    return value


async def _running(site: Site, count: int) -> bool:
    return (await site.client.stats()).counts[Status.RUNNING] == count
