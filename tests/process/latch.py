"""A latch that attempts in other processes wait at until a test opens it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path


class Latch:
    """A fifo. What is written into it stays there, so it may be opened before anybody comes."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "latch")
        os.mkfifo(self.path)
        self._end = os.open(self.path, os.O_RDWR)

    def open(self) -> None:
        """Let everybody through, now and later."""
        os.write(self._end, b"open")

    def close(self) -> None:
        os.close(self._end)


async def opened(path: str) -> None:
    """Wait at a latch, on the loop: being cancelled ends the wait."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
