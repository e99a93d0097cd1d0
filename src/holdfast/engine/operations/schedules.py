"""Operations on schedules. A store keeps a schedule as bytes: `holdfast.core.schedule` encodes and decodes them."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations.audit import Audit
from holdfast.engine.operations.operation import Operation
from holdfast.engine.operations.start import Started

SCHEDULES_CHANGED = "\x1fschedules"
"""In the `due` of hints: a schedule was changed, so its next tick may be earlier. No job type can have this name."""


class StoredSchedule(NamedTuple):
    """A schedule in the store. Its version is different after each change."""

    name: str
    version: str
    body: bytes

    def __repr__(self) -> str:
        """Without the body: it contains a payload."""
        return f"StoredSchedule({self.name!r})"


class FoundSchedules(NamedTuple):
    """Schedules, and the time of the store when they were read."""

    now: Micros
    schedules: list[StoredSchedule]
    wait: Micros | None = None
    """Of `DueSchedules`: the time until the next tick of a schedule that is not due. None if there is none."""


class GetSchedules(Operation[FoundSchedules], frozen=True):
    """The schedules with these names, or all, sorted by name. Unknown names are left out."""

    verb: ClassVar = "get_schedules"
    writes: ClassVar = False
    names: tuple[str, ...] | None = None


class DueSchedules(Operation[FoundSchedules], frozen=True):
    """Up to `limit` schedules of these job types with a due tick, the earliest tick first."""

    verb: ClassVar = "due_schedules"
    writes: ClassVar = False
    types: tuple[str, ...]
    limit: int


class ChangeSchedule(Operation[list[Started] | None], frozen=True):
    """Create, change or delete a schedule and start chains, atomically, if its version is still `expected`.

    `expected` is None for a schedule that must not exist, and `body` is None to delete it. Returns the started chains,
    as `Start` does. Returns None, and writes nothing, if the schedule has another version: of several callers with the
    same expected version, exactly one succeeds. A schedule whose version is already the new one was changed by an
    earlier try of this operation, and the chains are returned. Without `wait`, a schedule that another transaction is
    changing counts as changed. Raises ChainNotFound for an unknown blocker.
    """

    verb: ClassVar = "change_schedule"
    name: str
    expected: str | None
    version: str
    type: str = ""
    body: bytes | None = None
    ticks_at: Micros | None = None
    """When the next tick is due. None: the schedule is not ticked."""
    starts: tuple[NewJob, ...] = ()
    announce: bool = True
    """Whether to wake workers: the next tick may be earlier than before."""
    wait: bool = True
    action: str = ""
    """What the audit calls this change."""
    audit: Audit | None = None
