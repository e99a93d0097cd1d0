"""Operations for listeners: start and stop listening, read events."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.engine.operations.operation import Operation


class EventRow(NamedTuple):
    """A change that was committed while a listener existed. `holdfast.engine.events` lists the kinds."""

    seq: int
    at: Micros
    kind: str
    job_id: str
    chain_id: str
    type: str
    attempt: int
    worker: str | None


class Listen(Operation[int], frozen=True):
    """Record events during the next `lease`. Returns the seq of the newest event. Repeat it to continue listening."""

    verb: ClassVar = "listen"
    listener: str
    lease: Micros


class Unlisten(Operation[None], frozen=True):
    """Stop listening. Without any listener no events are recorded."""

    verb: ClassVar = "unlisten"
    listener: str


class ReadEvents(Operation[list[EventRow]], frozen=True):
    """Events after `after`, oldest first."""

    verb: ClassVar = "read_events"
    writes: ClassVar = False
    after: int
    limit: int
