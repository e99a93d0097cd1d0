"""A worker on a server that is killed and restarted."""

from __future__ import annotations

import asyncio

from holdfast import Client, Jobs, Worker
from holdfast.core.job import Chain
from tests.servers.redis import RedisServer, run_redis

jobs = Jobs()


@jobs.job
async def double(number: int) -> int:
    await asyncio.sleep(0)
    return number * 2


async def test_a_worker_continues_after_each_restart_of_the_server() -> None:
    with run_redis(appendonly="yes", appendfsync="always") as server:
        async with Client(server.address(), jobs) as client:
            chains: list[Chain[int]] = []
            async with Worker(client, concurrency=5, poll_interval=0.5):
                for number in range(3):
                    chains += await started(client, number)
                    await asyncio.to_thread(server.restart)
                    chains += await started(client, 10 + number)

                outputs = [await client.wait(chain, timeout=60) for chain in chains]

    assert len(outputs) == 240
    assert outputs == [chain.first_job.input["number"] * 2 for chain in chains]


async def started(client: Client, base: int) -> list[Chain[int]]:
    """Start forty chains on the restarted server: the connections to the killed one are broken."""
    return list(await client.start_many([double.bind(number=base * 100 + n) for n in range(40)]))


async def test_two_namespaces_of_one_server_do_not_delay_each_other(server: RedisServer) -> None:
    async with (
        Client(server.address(), jobs) as idle,
        Client(server.address(), jobs) as busy,
        Worker(idle),
        Worker(busy),
    ):
        outputs = [await busy.run(double.bind(number=n), timeout=60) for n in range(50)]

    assert outputs == [n * 2 for n in range(50)]
