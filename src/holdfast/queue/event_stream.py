"""A queue's store-wide stream: what happens to its jobs, whoever does it, under the queue's words and ids."""

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

Word = Literal["queued", "processing", "failing", "completed", "failed", "cancelled", "stalled", "requeued"]

_WORDS: dict[str, Word] = {
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
    """One thing that happened to a job of the queue, told after it was committed."""

    id: str
    event: Word
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
    """Finds the id that a job was enqueued under: a store's events name the job itself."""

    def __init__(self, type: QueueType) -> None:
        self._type = type
        self._ids: OrderedDict[str, str] = OrderedDict()

    def of(self, event: Event) -> procedures.Procedure[QueueEvent | None]:
        word = _WORDS.get(event.kind)
        if event.type != self._type.name or word is None or event.job_id is None:
            return None
        if event.job_id not in self._ids:
            record: Record | None
            (record,) = yield GetJobs((event.job_id,))
            if record is None or record.key is None:
                return None
            self._ids[event.job_id] = record.key
            if len(self._ids) > REMEMBERED:
                self._ids.popitem(last=False)
        return QueueEvent(self._ids[event.job_id], word, event.attempt or 0, event.worker, event.at)
