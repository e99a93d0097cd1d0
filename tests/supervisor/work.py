"""The job types that supervised processes of these tests run."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast import Jobs, Retry

jobs = Jobs()

AT_ONCE = Retry(initial=0, jitter=0, max_attempts=None)


@jobs.job(retry=AT_ONCE)
async def note(number: int) -> int:
    return number


@jobs.job(retry=AT_ONCE)
async def where() -> int:
    """The id of this process."""
    return os.getpid()


@jobs.job(retry=AT_ONCE)
def hold(begun: str, gate: str) -> int:
    """Write to one fifo, then wait until the test opens the other."""
    with Path(begun).open("w") as pipe:
        pipe.write(str(os.getpid()))
    Path(gate).read_text()
    return os.getpid()


@jobs.job(retry=AT_ONCE)
def queue_up(barrier: str) -> int:
    """Wait until the test opens the barrier. Returns the id of this process."""
    Path(barrier).open().close()
    return os.getpid()


@jobs.job(retry=AT_ONCE, executor="process")
def compute(number: int) -> int:
    return number * number


@jobs.job(retry=AT_ONCE, executor="process")
def hog(begun: str) -> None:
    """Write the ids of this process and of its parent, then hold the GIL and keep the fifo open."""
    with Path(begun).open("w") as pipe:
        pipe.write(f"{os.getpid()} {os.getppid()}\n")
        pipe.flush()
        while True:
            pass
