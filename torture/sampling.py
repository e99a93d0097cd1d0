"""That a process lives, and what it holds: files, threads, tasks, memory; and what it heard and passed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count

from torture.failpoints import Watch
from torture.hearing import LossyWakeups
from torture.history import History

BEAT = 0.25
"""Seconds between two signs of life of a loop."""
SAMPLE_EVERY = 8
"""Beats."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def sampling(history: History, watch: Watch, *lines: LossyWakeups) -> AsyncGenerator[None]:
    """Take samples for as long as the block lasts, and a last one of what was heard and passed.

    The first sign of life is given before the block begins: one that freezes right after is known to have stood still.
    """
    history.note("beat")
    task = asyncio.create_task(_sample(history, watch, *lines))
    try:
        yield
    finally:
        task.cancel()
        _emit(history, watch, *lines)


async def _sample(history: History, watch: Watch, *lines: LossyWakeups) -> None:
    for beat in count(1):
        await asyncio.sleep(BEAT)
        history.note("beat")
        if not beat % SAMPLE_EVERY:
            _hold(history)
            _emit(history, watch, *lines)


def resident_megabytes() -> float:
    """How much memory of the machine this process uses."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - not a file that anybody waits for
        return round(int(file.read().split()[1]) * _PAGE / 2**20, 1)


def _hold(history: History) -> None:
    history.note(
        "sample",
        files=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - a folder of the kernel's
        threads=threading.active_count(),
        tasks=len(asyncio.all_tasks()),
        memory=resident_megabytes(),
    )


def _emit(history: History, watch: Watch, *lines: LossyWakeups) -> None:
    watch.emit()
    if lines:
        dropped, doubled = sum(line.dropped for line in lines), sum(line.doubled for line in lines)
        history.note("hints", dropped=dropped, doubled=doubled)
