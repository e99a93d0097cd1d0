"""Live workers as stores keep them, and as callers see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from holdfast.core.clock import SECOND, Micros, duration, to_datetime
from holdfast.core.defaults import WORKER_GONE_AFTER, WORKER_REFRESH

GONE_AFTER: Micros = duration(WORKER_GONE_AFTER)
"""A worker without a refresh for this long counts as gone."""
LATE_REPORT: Micros = duration(WORKER_REFRESH) + 10 * SECOND
"""A worker without a refresh for this long has missed one."""
PRUNED_AFTER: Micros = 600 * SECOND
"""When the row of a gone worker is deleted. Until then a worker that was suspended still reads its drain flag."""


class WorkerRecord(msgspec.Struct, frozen=True):
    """The row of a worker.

    `started_at` is the store's time of the first report; two workers with the same id differ in it. A first
    report has 0 there. `busy` is counted when the row is read: the running jobs of the worker.
    """

    id: str
    host: str
    pid: int
    types: tuple[str, ...]
    concurrency: int
    registry: str = "default"
    """The name of the registry that the worker runs."""
    details: str = "{}"
    """A JSON object for everything that no statement compares."""
    started_at: Micros = 0
    seen_at: Micros = 0
    draining: bool = False
    """The worker claims no more jobs, or will not after its next report."""
    busy: int = 0


class LiveWorker:
    """A copy of a worker's row: a worker that reported itself within the last 90 seconds."""

    __slots__ = ("record",)

    def __init__(self, record: WorkerRecord) -> None:
        self.record = record

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def host(self) -> str:
        return self.record.host

    @property
    def pid(self) -> int:
        return self.record.pid

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the job types that it runs."""
        return self.record.types

    @property
    def concurrency(self) -> int:
        """How many jobs it runs at the same time."""
        return self.record.concurrency

    @property
    def busy(self) -> int:
        """How many jobs it runs now; at most its concurrency."""
        return min(self.record.busy, self.record.concurrency)

    @property
    def ahead(self) -> int:
        """How many more jobs it has claimed: they begin within milliseconds, or their results are not written yet."""
        return self.record.busy - self.busy

    @property
    def started_at(self) -> datetime:
        return to_datetime(self.record.started_at)

    @property
    def seen_at(self) -> datetime:
        """When it last reported itself."""
        return to_datetime(self.record.seen_at)

    @property
    def draining(self) -> bool:
        """Whether it claims no more jobs, or was asked to."""
        return self.record.draining

    @property
    def registry(self) -> str:
        return self.record.registry

    @property
    def details(self) -> dict[str, Any]:
        """What else the worker reported about itself, such as the types that it declares without a handler."""
        found: dict[str, Any] = msgspec.json.decode(self.record.details, type=dict[str, Any])
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiveWorker) and self.record == other.record

    def __hash__(self) -> int:
        return hash(self.record.id)

    def __repr__(self) -> str:
        return f"<LiveWorker {self.id} busy={self.busy}/{self.concurrency}>"
