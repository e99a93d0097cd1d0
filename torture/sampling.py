"""Beats and samples of a process: files, threads, tasks, memory, wake-ups, and passed failpoints."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count

from torture.failpoints import Watch
from torture.history import History
from torture.lossy_wakeups import LossyWakeups

BEAT = 0.25
"""Seconds between two beats of an event loop."""
SAMPLE_EVERY = 8
"""Beats between two samples."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def sampling(history: History, watch: Watch, *lines: LossyWakeups) -> AsyncGenerator[None]:
    """Take samples during the block, and write the counts of wake-ups and failpoints at its end.

    The first beat is written before the block begins: a process that freezes immediately has at least one beat.
    """
    history.note("beat")
    task = asyncio.create_task(_sample(history, watch, *lines))
    try:
        yield
    finally:
        task.cancel()
        _write_counts(history, watch, *lines)


async def _sample(history: History, watch: Watch, *lines: LossyWakeups) -> None:
    for beat in count(1):
        await asyncio.sleep(BEAT)
        history.note("beat")
        if not beat % SAMPLE_EVERY:
            _hold(history)
            _write_counts(history, watch, *lines)


def resident_megabytes() -> float:
    """The resident memory of this process."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - a file of the kernel
        return round(int(file.read().split()[1]) * _PAGE / 2**20, 1)


def _hold(history: History) -> None:
    history.note(
        "sample",
        files=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - a folder of the kernel
        threads=threading.active_count(),
        tasks=len(asyncio.all_tasks()),
        memory=resident_megabytes(),
    )


def _write_counts(history: History, watch: Watch, *lines: LossyWakeups) -> None:
    watch.write_counts()
    if lines:
        dropped, doubled = sum(line.dropped for line in lines), sum(line.doubled for line in lines)
        history.note("hints", dropped=dropped, doubled=doubled)
