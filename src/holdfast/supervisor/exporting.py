"""Further metrics for `/metrics`: those of the whole store, and those of this process."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import NamedTuple, Protocol

from holdfast.engine.attempt_tally import AttemptTally
from holdfast.engine.observers import LogThrottle, log
from holdfast.engine.store import Store
from holdfast.supervisor.backlog import PAUSE_FACTOR, Backlog

REFRESH = 1.0
"""Seconds between two reads of the store: requests within this time share one."""
READ_TIMEOUT = 2.0
"""Seconds that the store has to answer, less than the endpoint has."""


class Exposition(NamedTuple):
    """Metric families in the text format of Prometheus, and their names."""

    text: str = ""
    names: frozenset[str] = frozenset()


class Exporter(Protocol):
    """Where the metrics come from."""

    @property
    def attempts(self) -> AttemptTally:
        """The attempts to show: an observer of a worker, or what a supervisor receives from its processes."""
        ...

    def process(self) -> Exposition:
        """The metrics of these attempts."""
        ...

    async def store(self, store: Store) -> Exposition:
        """The metrics of a store."""
        ...


class Exporting:
    """Reads an exporter when a request asks for it. While the store does not answer, its metrics are left out."""

    def __init__(self, exporter: Exporter, backlog: Backlog) -> None:
        self._exporter = exporter
        self._backlog = backlog
        self._reading: asyncio.Task[Exposition] | None = None
        self._not_before = 0.0
        self._log_throttle = LogThrottle()

    async def read(self) -> Exposition:
        process, store = self._exporter.process(), await self._store()
        return Exposition(store.text + process.text, store.names | process.names)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _store(self) -> Exposition:
        if self._backlog.last is None:
            return Exposition()
        if self._reading is None or (self._reading.done() and monotonic() >= self._not_before):
            self._reading = asyncio.create_task(self._read())
        await asyncio.wait([self._reading], timeout=READ_TIMEOUT)
        return self._reading.result() if self._reading.done() else Exposition()

    async def _read(self) -> Exposition:
        asked = monotonic()
        try:
            return await self._exporter.store(self._backlog.store)
        except Exception as error:  # the other metrics are served in any case
            if self._log_throttle.should_log(str(error)):
                log.warning("the metrics of the store cannot be read: %s", error)
            return Exposition()
        finally:
            now = monotonic()
            self._not_before = now + max(REFRESH, (now - asked) * PAUSE_FACTOR)
