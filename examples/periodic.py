"""A job that runs again and again: each run is the next job of one chain, due after a delay.

A crash between two runs loses nothing, since the next one exists as soon as the last one is completed. The key keeps a
second start from making a second loop.
"""

import asyncio
import tempfile

from holdfast import Bound, Client, Jobs, Worker

RUNS = 3

jobs = Jobs()


@jobs.job
async def tidy_up(run: int = 1) -> int | Bound[int]:
    print(f"run {run}")
    if run == RUNS:  # a real one would go on for ever
        return run
    return tidy_up.bind(run=run + 1).options(delay=0.05)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Client(f"sqlite:///{folder}/jobs.db", jobs) as client:
            chain = await client.start(tidy_up.bind(), key="tidy-up")
            again = await client.start(tidy_up.bind(), key="tidy-up")
            print("a second start finds the first:", again.deduplicated and again.id == chain.id)
            async with Worker(client):
                print("runs:", await client.wait(chain, timeout=10))
            page = await client.list_jobs(chain=chain)
            print("jobs of the chain:", [job.index for job in reversed(page.items)])


if __name__ == "__main__":
    asyncio.run(main())
