"""Steps of a job as stores keep them, and what a suspended attempt waits for. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from holdfast.core.clock import SECOND, Micros
from holdfast.core.record import Claim

StepKind = Literal["step", "sleep", "receive", "cursor"]

NEVER: Final[Micros] = 253_402_300_799 * SECOND
"""The due time of a job that waits for a message without a timeout: the end of the year 9999."""

WAIT_IN_PLACE: Final = 5.0
"""Seconds. A sleep or a receive that takes longer ends the attempt."""

NAME_LIMIT: Final = 200
EACH_LIMIT: Final = 500
STEPS_LIMIT: Final = 10_000
"""Steps of one job, with its sleeps, receives and cursors."""
SIZE_LIMIT: Final = 16 << 20
"""Bytes of all results of the steps of one job."""


class StepRow(msgspec.Struct, frozen=True, gc=False):
    """One step, sleep, receive or cursor of a job. `(name, each)` is unique in a job.

    It is *open* while `finished_at` is None: a sleep or receive that suspended the attempt, or a cursor that has not
    ended. It has *failed* if it is finished with an error. Otherwise it is *completed*.
    """

    name: str
    each: str
    """JSON text of the value of `each=`; empty without one."""
    kind: StepKind
    number: int
    """The order of the steps of a job. The worker assigns it: only the holder of the claim writes steps."""
    attempt: int
    epoch: int = 0
    """How often the job had been retried from a step when this step was first stored: part of its idempotency key."""
    result: bytes | None = None
    """JSON. Of a cursor: its position."""
    error: bytes | None = None
    started_at: Micros = 0
    finished_at: Micros | None = None
    wake_at: Micros | None = None
    """When a sleep ends; the deadline of a receive. None: no end."""

    def __repr__(self) -> str:
        """Without the result: a row may appear in the text of an error."""
        return f"StepRow({self.name!r}, {self.each!r}, {self.kind!r}, number={self.number})"

    @property
    def final(self) -> bool:
        """Whether the row never changes: completed, or a receive whose timeout ended."""
        return self.finished_at is not None and (self.error is None or self.kind == "receive")

    def is_replaced_by(self, number: int) -> bool:
        """Whether a checkpoint with this number replaces the row. An older one, which arrives late, does not."""
        return not self.final and self.number <= number


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A step to be stored under the claim of its attempt."""

    claim: Claim
    name: str
    each: str
    kind: StepKind
    number: int
    attempt: int
    epoch: int = 0
    result: bytes | None = None
    error: bytes | None = None
    took: Micros = 0
    """How long it took. It was started this long before it is stored."""
    done: bool = True
    """False for the position of a cursor that has not ended."""

    @property
    def is_timeout(self) -> bool:
        """Whether it says that a message did not arrive in time."""
        return self.kind == "receive" and self.error is not None

    def __repr__(self) -> str:
        """Without the token and the result: a checkpoint may appear in the text of an error."""
        return f"Checkpoint({self.claim!r}, {self.name!r}, {self.each!r})"

    def row(self, now: Micros) -> StepRow:
        """The row to store at this time."""
        return StepRow(
            self.name, self.each, self.kind, self.number, self.attempt, self.epoch, self.result, self.error,
            started_at=now - self.took, finished_at=now if self.done else None,
        )  # fmt: skip


class Wait(msgspec.Struct, frozen=True, gc=False):
    """What a suspended attempt waits for: the end of a sleep, or a message with the name of a receive.

    It ends at `at`, or `delay` after the current time of the store. Without both it has no end.
    """

    name: str
    each: str
    kind: Literal["sleep", "receive"]
    number: int
    attempt: int
    epoch: int = 0
    delay: Micros | None = None
    at: Micros | None = None

    def wake_at(self, now: Micros) -> Micros | None:
        """When it ends."""
        if self.at is not None:
            return self.at
        return None if self.delay is None else now + self.delay

    def row(self, now: Micros) -> StepRow:
        """The open row to store, if the job has none with this name."""
        return StepRow(
            self.name, self.each, self.kind, self.number, self.attempt, self.epoch,
            started_at=now, wake_at=self.wake_at(now),
        )  # fmt: skip


def due_after(waits: Sequence[Wait], now: Micros) -> Micros:
    """When a suspended job is due, unless a message arrives before."""
    ends = [at for wait in waits if (at := wait.wake_at(now)) is not None]
    return min(NEVER, max(now, min(ends, default=NEVER)))


class RemovedSteps(NamedTuple):
    """What a retry from a step removes."""

    steps: Sequence[StepRow]
    messages: Sequence[str]
    """The names of the messages that these steps received."""


def removed_from(rows: Sequence[StepRow], name: str) -> RemovedSteps | None:
    """What a retry from the step `name` removes of these rows; None if there is no such step.

    The step with its first `each`, all with a higher number, and the open sleeps and receives.
    """
    first = min((row.number for row in rows if row.name == name), default=None)
    if first is None:
        return None
    removed = [
        row for row in rows if row.number >= first or (row.finished_at is None and row.kind in ("sleep", "receive"))
    ]
    return RemovedSteps(removed, [row.name for row in removed if row.kind == "receive"])
