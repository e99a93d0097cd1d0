"""The lock of a lent connection, which records its owner.

psycopg holds the lock of a connection while a COPY or a `stream()` of the application is open. A caller that waits for
the lock would wait forever if it opened that COPY itself.
"""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType


class OwnedLock:
    """The lock of a blocking connection."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._owner: threading.Thread | None = None

    @property
    def is_left(self) -> bool:
        """Whether waiting for the lock would never end: the owner is the caller's own thread, or has ended."""
        owner = self._owner
        return owner is not None and (owner is threading.current_thread() or not owner.is_alive())

    def __enter__(self) -> None:
        self._lock.acquire()
        self._owner = threading.current_thread()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owner = None
        self._lock.release()


class AsyncOwnedLock:
    """The lock of an async connection."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._owner: asyncio.Task[object] | None = None

    @property
    def is_left(self) -> bool:
        """Whether waiting for the lock would never end: the owner is the caller's own task, or has ended."""
        owner = self._owner
        return owner is not None and (owner is asyncio.current_task() or owner.done())

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._owner = asyncio.current_task()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owner = None
        self._lock.release()
