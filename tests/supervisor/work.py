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
    """Which process it was."""
    return os.getpid()


@jobs.job(retry=AT_ONCE)
def hold(begun: str, gate: str) -> int:
    """Say so through one fifo, then wait until somebody opens the other."""
    with Path(begun).open("w") as pipe:
        pipe.write(str(os.getpid()))
    Path(gate).read_text()
    return os.getpid()


@jobs.job(retry=AT_ONCE)
def queue_up(barrier: str) -> int:
    """Wait until somebody lifts the barrier; answers which process it was."""
    Path(barrier).open().close()
    return os.getpid()


@jobs.job(retry=AT_ONCE, executor="process")
def compute(number: int) -> int:
    return number * number


@jobs.job(retry=AT_ONCE, executor="process")
def hog(begun: str) -> None:
    """Say which processes this is, and whose child, then keep the interpreter, and the fifo, for ever."""
    with Path(begun).open("w") as pipe:
        pipe.write(f"{os.getpid()} {os.getppid()}\n")
        pipe.flush()
        while True:
            pass
