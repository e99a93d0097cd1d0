"""Work that is done again and again: a schedule starts a chain at each tick, and any worker ticks it.

Each run is a chain of its own, so old ones are pruned, and work that fails stops nothing. A store may be named:
`python examples/periodic.py redis://localhost`.
"""

import asyncio
import sys
import tempfile
from datetime import timedelta

from holdfast import Attempt, Client, Jobs, Retry, Worker

jobs = Jobs()
runs: list[str] = []
enough = asyncio.Event()


@jobs.job(keep=timedelta(days=1), retry=Retry(max_attempts=1))
async def tidy_up(attempt: Attempt) -> None:
    assert attempt.tick is not None, "a schedule started it"
    bad_day = len(runs) == 1
    runs.append("failed" if bad_day else "done")
    if len(runs) == 4:
        enough.set()
    if bad_day:
        raise OSError("the disk is full")


jobs.schedule("tidy-up", tidy_up.bind(), every=timedelta(seconds=0.05))  # or cron="30 2 * * *", tz="Europe/Paris"


async def main(address: str) -> None:
    async with Client(address, jobs) as client:
        async with Worker(client), Worker(client):  # each tick starts one chain, however many workers there are
            await asyncio.wait_for(enough.wait(), 30)
        print("runs:", ", ".join(runs[:4]))

        (schedule,) = await client.schedules()
        chains = (await client.list_chains(type=tidy_up, limit=1000)).items
        print("one chain per tick:", len({chain.id for chain in chains}) == schedule.counts.started)
        print("the last one:", schedule.last_chain == chains[0].id)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(f"sqlite:///{folder}/jobs.db"))
