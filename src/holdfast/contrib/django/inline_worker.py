"""A worker inside `runserver`, for development: `HOLDFAST = {"INLINE_WORKER": True}`."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
import threading
from typing import Any

from holdfast.contrib.django.addresses import store_address
from holdfast.contrib.django.configuration import configuration

_log = logging.getLogger("holdfast.django")

GRACE = 10.0
"""Seconds that running jobs have when the server stops or reloads."""


def start_in_runserver() -> None:
    """Start the worker if this is the serving process of `runserver`, and the setting asks for it."""
    if configuration().inline_worker and _serves():
        InlineWorker().start()


def _serves() -> bool:
    if sys.argv[1:2] != ["runserver"]:
        return False
    # With autoreload, the first process only starts the second one, in which this variable is set.
    return "--noreload" in sys.argv or os.environ.get("RUN_MAIN") == "true"


class InlineWorker:
    """A worker with its own event loop, in a thread. It drains when the process ends, also for a reload."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="holdfast-inline-worker", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    def start(self) -> None:
        """Start the thread. The end of the process stops it."""
        self._thread.start()
        # The worker needs the thread pools of the standard library, which end before `atexit` calls its functions.
        register: Any = getattr(threading, "_register_atexit", atexit.register)
        register(self.stop)

    def stop(self) -> None:
        """Stop claiming, and wait for running jobs. A thread that is still connecting is not waited for."""
        loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)
            self._thread.join(GRACE + 5)

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except Exception:
            _log.exception("the inline worker has ended")

    async def _work(self) -> None:
        from holdfast.client.client import Client
        from holdfast.contrib.django.workers import jobs
        from holdfast.worker import Worker

        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with Client(store_address(configuration()), jobs) as client, Worker(client, grace=GRACE):
            await self._stopping.wait()
