"""What the memory store keeps of a limit, rate or order, beside its jobs."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.lanes import LaneKind


class StoredLimit(NamedTuple):
    """A limit, rate or order: its declaration, and the number that an operator has set."""

    kind: LaneKind
    declared: int
    per: Micros = 0
    burst: int = 1
    override: int | None = None

    @property
    def number(self) -> int:
        return self.declared if self.override is None else self.override


class Hold(NamedTuple):
    """The track of a job that waits for its weight in a rate, and when the rate allows it."""

    track: str
    priority: int
    at: Micros
