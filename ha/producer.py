"""A producer: starts jobs until SIGTERM, and writes a line for each start that was acknowledged."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from ha.jobs import effect, jobs
from holdfast import HoldfastError, SyncClient

PAUSE = 0.002
"""Seconds between two starts, so that the load does not use all of a small machine."""


def produce(address: str, acknowledged: Path) -> None:
    """Start jobs with keys 0, 1, 2, ... A start whose result is unknown is repeated with the same key."""
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, end)
    number = 0
    with acknowledged.open("w", buffering=1) as file, SyncClient(address, jobs) as client:
        while not stop.wait(PAUSE):
            try:
                chain = client.start(effect.bind(number), key=f"{acknowledged.stem}-{number}")
            except HoldfastError:
                continue
            file.write(f"{chain.id} {time.monotonic()}\n")
            number += 1


if __name__ == "__main__":
    produce(sys.argv[1], Path(sys.argv[2]))
