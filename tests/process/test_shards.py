"""A PostgreSQL server of two is killed under load: no acknowledged job is lost, and the other shard continues."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator

import pytest

from holdfast import Client, Jobs, StoreUnavailable, Worker
from tests.servers.postgres import Postgres, running_postgres

TIMEOUT = 120


@pytest.fixture(scope="module")
def servers() -> Generator[dict[str, Postgres]]:
    with running_postgres() as eu, running_postgres() as us:
        yield {"eu": eu, "us": us}


async def test_no_acknowledged_job_is_lost_and_the_other_shard_continues(servers: dict[str, Postgres]) -> None:
    jobs = Jobs()
    ran: list[int] = []

    @jobs.job
    async def record(number: int) -> int:
        ran.append(number)
        return number

    acknowledged: dict[str, list[tuple[str, int]]] = {"eu": [], "us": []}
    refused = asyncio.Event()

    async def produce(client: Client, shard: str, numbers: range, until: asyncio.Event | None = None) -> None:
        for number in numbers:
            try:
                chain = await client.start(record.bind(number), shard=shard)
            except StoreUnavailable:
                refused.set()
                await asyncio.sleep(0.05)
                continue
            acknowledged[shard].append((chain.id, number))
            if until is not None and until.is_set():
                return

    addresses = {name: server.address() for name, server in servers.items()}
    async with Client(addresses, jobs, migrate=True) as client, asyncio.timeout(TIMEOUT), Worker(client, concurrency=8):
        recovered = asyncio.Event()
        producers = [
            asyncio.create_task(produce(client, "us", range(1_000_000), recovered)),
            asyncio.create_task(produce(client, "eu", range(1_000_000, 1_000_050))),
        ]
        while len(acknowledged["us"]) < 20:  # noqa: ASYNC110 - other tasks cause it
            await asyncio.sleep(0.01)
        await asyncio.to_thread(servers["us"].stop, signal.SIGQUIT)
        await refused.wait()

        for number in range(2_000_000, 2_000_050):
            chain = await client.start(record.bind(number), shard="eu")
            assert await client.wait(chain) == number
        with pytest.raises(StoreUnavailable):
            await client.stats()

        await asyncio.to_thread(servers["us"].start)
        before = len(acknowledged["us"])
        while len(acknowledged["us"]) == before:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        recovered.set()
        await asyncio.gather(*producers)
        outputs = [(await client.wait(id), number) for accepted in acknowledged.values() for id, number in accepted]

    assert all(output == number for output, number in outputs)
    assert {number for accepted in acknowledged.values() for _, number in accepted} <= set(ran)
