"""Addresses with several hosts: clients and workers find the primary, also after another server became it."""

from __future__ import annotations

import asyncio

from holdfast import Client, Jobs, SyncClient, Worker
from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import Postgres, running_postgres, running_standby

TIMEOUT = 120.0
NEVER = 10_000
"""A poll interval that is longer than the test: only wake-ups deliver jobs."""

jobs = Jobs()


@jobs.job
async def double(number: int) -> int:
    return 2 * number


def both(first: Postgres, second: Postgres) -> str:
    hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
    return f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"


async def test_clients_and_workers_use_the_server_that_accepts_writes() -> None:
    with running_postgres() as primary, running_standby(primary) as standby:
        address = both(standby, primary)
        PostgresStore(address).migrate_sync()

        async with Client(address, jobs) as client, Worker(client, poll_interval=NEVER):
            with SyncClient(address, jobs) as blocking:
                chain = await asyncio.to_thread(blocking.start, double.bind(21))
                assert await client.wait(chain, timeout=TIMEOUT) == 42


async def test_a_worker_continues_with_the_promoted_standby() -> None:
    with running_postgres() as primary, running_standby(primary, synchronous=True) as standby:
        address = both(primary, standby)
        PostgresStore(address).migrate_sync()

        async with Client(address, jobs) as client, Worker(client, poll_interval=NEVER):
            assert await client.run(double.bind(1), timeout=TIMEOUT) == 2

            await asyncio.to_thread(primary.stop)
            await asyncio.to_thread(standby.promote)

            for number in range(5):
                assert await client.run(double.bind(number), timeout=TIMEOUT) == 2 * number
