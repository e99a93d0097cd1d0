"""A program that a timer interrupts at random points: `producer.py ADDRESS TIMES`. Prints `done` on success."""

from __future__ import annotations

import faulthandler
import gc
import random
import signal
import sys
import time
from types import FrameType

from holdfast import Jobs, SyncClient

TIMEOUT = 60.0
"""Seconds within which a call after an interruption must return."""

jobs = Jobs()


@jobs.job
def noted(number: int) -> int:
    return number


class SoftTimeLimit(Exception):
    """The exception of the signal handler."""


armed = False


def interrupt(signal_number: int, frame: FrameType | None) -> None:
    global armed
    if armed:
        armed = False
        raise SoftTimeLimit


def interrupted_call(client: SyncClient, seconds: float) -> None:
    """Start jobs until the timer, set to this time, interrupts."""
    global armed
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        start_jobs(client)
    except SoftTimeLimit:
        return
    finally:
        armed = False


def start_jobs(client: SyncClient) -> None:
    # Not inside the `try`: from Python 3.12 on, an exception at the jump of a loop is not in its block.
    while armed:
        client.start(noted.bind(1))


def main(address: str, times: int) -> None:
    signal.signal(signal.SIGALRM, interrupt)
    chance = random.Random(7)
    with SyncClient(address, jobs, migrate=True) as client:
        begun = time.perf_counter()
        for _ in range(20):
            client.start(noted.bind(0))
        usual = (time.perf_counter() - begun) / 20
        for _ in range(times):
            faulthandler.dump_traceback_later(TIMEOUT, exit=True)
            interrupted_call(client, chance.uniform(0.00001, 3 * usual))
            faulthandler.dump_traceback_later(TIMEOUT, exit=True)
            chain = client.start(noted.bind(2))
            found = client.get(chain)
            assert found is not None
            assert found.id == chain.id
            faulthandler.cancel_dump_traceback_later()
        gc.collect()
        faulthandler.dump_traceback_later(TIMEOUT, exit=True)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    faulthandler.enable()
    main(sys.argv[1], int(sys.argv[2]))
