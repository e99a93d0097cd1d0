"""SAQ on Redis, with retries, a timeout as short as our lease, and a sweep for stuck jobs every second."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from torture.peers.effects import mark

_library: Any = import_module("saq")


def _queue(url: str) -> Any:
    return _library.Queue.from_url(url.partition("?")[0])


async def setup(url: str) -> None:
    """Nothing to set up."""


async def enqueue(url: str, numbers: Iterable[int], pause: float) -> list[int]:
    accepted: list[int] = []
    queue = _queue(url)
    await queue.connect()
    for number in numbers:
        try:
            job = await queue.enqueue("plod", number=number, timeout=5, retries=50, ttl=3600)
            if job is not None:
                accepted.append(number)
        except Exception:
            await asyncio.sleep(0.2)
        await asyncio.sleep(pause)
    await queue.disconnect()
    return accepted


async def work(url: str) -> None:
    where = url.partition("?")[0]

    async def plod(context: Any, *, number: int) -> None:
        await mark(where, number)

    queue = _queue(url)
    worker = _library.Worker(queue, functions=[("plod", plod)], concurrency=8, timers={"sweep": 1, "schedule": 1})
    await worker.start()


async def unfinished(url: str) -> int:
    queue = _queue(url)
    await queue.connect()
    try:
        return int(await queue.count("incomplete"))
    finally:
        await queue.disconnect()
