"""The stream of a queue's events in a store: from every process, with the names and ids of the queue."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from holdfast.client.event_stream import follow, follow_sync
from holdfast.core.record import Record
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.operations import GetJobs
from holdfast.engine.store import Store
from holdfast.queue.queue_type import QueueType

REMEMBERED = 10_000

EventName = Literal["queued", "processing", "failing", "completed", "failed", "cancelled", "stalled", "requeued"]

_EVENT_NAMES: dict[str, EventName] = {
    "created": "queued",
    "retried": "queued",
    "claimed": "processing",
    "retrying": "failing",
    "mismatched": "requeued",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
    "reaped": "stalled",
    "released": "requeued",
    "rescheduled": "requeued",
}


@dataclass(frozen=True, slots=True)
class QueueEvent:
    """An event of a job of the queue, delivered after the commit."""

    id: str
    event: EventName
    attempts: int
    worker: str | None
    at: datetime | None


async def stream(store: Store, type: QueueType) -> AsyncIterator[QueueEvent]:
    """Events from now on."""
    translation = _Translation(type)
    async for event in follow(store):
        if (reported := await procedures.run(store.perform, translation.of(event))) is not None:
            yield reported


def stream_sync(store: Store, type: QueueType) -> Iterator[QueueEvent]:
    """Events from now on, for blocking code."""
    translation = _Translation(type)
    for event in follow_sync(store):
        if (reported := procedures.run_sync(store.perform_sync, translation.of(event))) is not None:
            yield reported


class _Translation:
    """Finds the id that a job was enqueued under: the events of a store contain only the id of the record."""

    def __init__(self, type: QueueType) -> None:
        self._type = type
        self._ids: OrderedDict[str, str] = OrderedDict()

    def of(self, event: Event) -> procedures.Procedure[QueueEvent | None]:
        name = _EVENT_NAMES.get(event.kind)
        if event.type != self._type.name or name is None or event.job_id is None:
            return None
        if event.job_id not in self._ids:
            record: Record | None
            (record,) = yield GetJobs((event.job_id,))
            if record is None or record.key is None:
                return None
            self._ids[event.job_id] = record.key
            if len(self._ids) > REMEMBERED:
                self._ids.popitem(last=False)
        return QueueEvent(self._ids[event.job_id], name, event.attempt or 0, event.worker, event.at)
