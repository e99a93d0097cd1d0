"""A latch: attempts in other processes wait until a test opens it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path


class Latch:
    """A fifo. Written data stays in it, so the latch may be opened before an attempt waits."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "latch")
        os.mkfifo(self.path)
        self._end = os.open(self.path, os.O_RDWR)

    def open(self) -> None:
        """Let all attempts continue, now and later."""
        os.write(self._end, b"open")

    def close(self) -> None:
        os.close(self._end)


async def opened(path: str) -> None:
    """Wait for a latch on the event loop. A cancellation ends the wait."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
