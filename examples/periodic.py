"""Work that is done again and again: a job that is the clock, and starts the work and its own successor.

Each tick, and each run of the work, is a chain of its own, so old ones are pruned; and work that fails stops nothing,
since the next tick exists by then. A store may be named: `python examples/periodic.py redis://localhost`.
"""

import asyncio
import sys
import tempfile
from datetime import timedelta

from holdfast import Attempt, Client, Jobs, Retry, Worker

EVERY = timedelta(seconds=0.05)
KEEP = timedelta(0)  # a real one keeps its past for a day, or for the usual seven

jobs = Jobs()
runs: list[str] = []
enough = asyncio.Event()


@jobs.job(keep=KEEP, retry=Retry(initial=1, maximum=60, max_attempts=None))
async def tick(attempt: Attempt) -> None:
    async with attempt.complete() as done:  # both exist once this tick is completed, or neither
        await done.start(tidy_up.bind(), key="tidy-up")  # finds the last one instead, if that is not finished
        # `exclude`: this tick has the key, too, and is not finished yet.
        await done.start(tick.bind(), key="tick", delay=EVERY, exclude=[attempt.job.chain_id])
        return done.output(None)


@jobs.job(keep=KEEP, retry=Retry(max_attempts=1))
async def tidy_up() -> None:
    bad_day = len(runs) == 1
    runs.append("failed" if bad_day else "done")
    if len(runs) == 4:
        enough.set()
    if bad_day:
        raise OSError("the disk is full")


async def main(address: str) -> None:
    async with Client(address, jobs) as client:
        first = await client.start(tick.bind(), key="tick")  # whenever the application starts: there is one clock
        again = await client.start(tick.bind(), key="tick")
        print("a second start finds the first:", again.deduplicated and again.id == first.id)
        async with Worker(client):
            await asyncio.wait_for(enough.wait(), 30)
        print("runs:", ", ".join(runs[:4]))

        await client.prune()  # workers do so now and then
        print("ticks left:", [str(chain.status) for chain in (await client.list_chains(type=tick)).items])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(f"sqlite:///{folder}/jobs.db"))
