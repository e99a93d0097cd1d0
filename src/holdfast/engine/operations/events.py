"""Verbs of those who follow what happens."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.engine.operations.operation import Operation


class EventRow(NamedTuple):
    """A transition that was committed while somebody listened. `kind` is a word of `holdfast.engine.events`."""

    seq: int
    at: Micros
    kind: str
    job_id: str
    chain_id: str
    type: str
    attempt: int
    worker: str | None


class Listen(Operation[int], frozen=True):
    """Have transitions recorded for the next `lease`; answers the newest event's seq. Call again to go on listening."""

    verb: ClassVar = "listen"
    listener: str
    lease: Micros


class Unlisten(Operation[None], frozen=True):
    """Stop listening. When nobody does, nothing more is recorded."""

    verb: ClassVar = "unlisten"
    listener: str


class ReadEvents(Operation[list[EventRow]], frozen=True):
    """Events after `after`, oldest first."""

    verb: ClassVar = "read_events"
    writes: ClassVar = False
    after: int
    limit: int
