"""One of the compared commits: a process that starts or drains jobs when the comparison asks for it.

It runs with the package of any commit, so it imports nothing but the public names that all of them have. A line on its
input is the name of a measurement and the number of jobs. The answer is a line with seconds of elapsed and of CPU time.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time

from holdfast import Client, Jobs, Worker

SLOTS = 100
BATCH = 700

jobs = Jobs()
left = 0
ended = asyncio.Event()


@jobs.job
async def add(number: int) -> int:
    global left
    left -= 1
    if not left:
        ended.set()
    return number + 1


async def single(client: Client, count: int) -> None:
    for number in range(count):
        await client.start(add.bind(number))


async def batch(client: Client, count: int) -> None:
    for first in range(0, count, BATCH):
        await client.start_many([add.bind(number) for number in range(first, min(first + BATCH, count))])


async def drain(client: Client, count: int) -> None:
    global left
    left = count
    ended.clear()
    # The end of the block waits until the last outcome is written.
    async with Worker(client, concurrency=SLOTS):
        await ended.wait()


async def main(url: str) -> None:
    async with Client(url, jobs, migrate=True) as client:
        while request := sys.stdin.readline().split():
            measurement, count = request
            measured = {"single": single, "batch": batch, "drain": drain}[measurement]
            gc.collect()
            begun, cpu = time.perf_counter(), time.process_time()
            await measured(client, int(count))
            print(time.perf_counter() - begun, time.process_time() - cpu, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
