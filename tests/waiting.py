"""Waits for a state that sends no event, so it is polled."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

TIMEOUT = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.01)


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not await reached():  # noqa: ASYNC110 - other processes cause it
            await asyncio.sleep(0.05)
