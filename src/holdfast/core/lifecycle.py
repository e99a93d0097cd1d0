"""Values of a job's life: a new job, the outcome of an attempt, and the settlement that a store writes.

The worker describes the end of an attempt as an `Outcome`. `core.settle` decides what it means, and a store writes the
`Settlement` if the claim is still valid.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from holdfast.core.clock import Micros, duration, to_micros
from holdfast.core.details import hook_details, hook_lanes, read_details
from holdfast.core.error_groups import StoredFailure
from holdfast.core.hooks import hook_input
from holdfast.core.ids import new_id_on
from holdfast.core.record import ChainRecord, Claim, Record, Status
from holdfast.core.retry import Seconds, seconds
from holdfast.core.steps import Wait
from holdfast.errors import PayloadRefused

DedupScope = Literal["incomplete", "successful", "any", "waiting"]
"""Which chains of a key count. `incomplete`: unfinished ones. `successful`: also completed ones, until their key is
free. `any`: all. `waiting`: those whose first job is pending or blocked. A start with the scope `waiting` replaces the
chain that it finds.

The key of a completed chain is free when `dedup_for` has passed since it was completed. Without `dedup_for` it is free
when the chain is past its keep time.
"""

OPTIONS: Final = ("max_attempts", "timeout", "keep", "dedup_for")
"""The fields of a new job that stores write unchanged, as columns of the same names: integers, or None.

The statements of the SQL stores contain this list (`{options}`), so a new option needs no other statement.
"""

CLEARED_INPUT: Final = b"null"
"""The input of a chain that is past its keep time and exists only because its key is not free yet."""


class NewJob(msgspec.Struct, frozen=True, gc=False):
    """A job to be created: the first of a chain (index 0, id == chain_id) or a continuation.

    It is due at `at`, or `delay` after the current time of the store. A time in the past becomes the current time.
    """

    id: str
    type: str
    chain_id: str
    input: bytes
    index: int = 0
    priority: int = 0
    delay: Micros = 0
    at: Micros | None = None
    max_attempts: int | None = None
    timeout: Micros | None = None
    keep: Micros | None = None
    dedup_for: Micros | None = None
    """How long the key is taken after the chain was completed. None: as long as the chain is kept."""
    key: str | None = None
    dedup: DedupScope = "incomplete"
    window: Micros | None = None
    exclude: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    on_blocker_failure: str = "wait"
    blocker_types: tuple[str, ...] = ()
    """The types that the chains in `after` must have, in the same order. Empty: any."""
    details: str | None = None
    """JSON of `JobDetails`. None if all are empty."""
    chosen: bool = True
    """True if the application chose the id, and so may use it again. A generated id is used once."""
    track: str | None = None
    """The track of a job with lanes. The details contain its lanes."""
    due_within: Micros | None = None
    """Of a start that replaces a chain: the chain is due at most this long after its creation."""

    def __repr__(self) -> str:
        """Without the payload: a job may appear in the text of an error."""
        return f"NewJob(id={self.id!r}, type={self.type!r}, index={self.index})"


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The end of an attempt: a store writes it atomically if the claim is still valid.

    `outcome` appears in the report of the job. `continuation` and `starts` are created in the same transaction.
    """

    claim: Claim
    status: Status
    outcome: str
    output: bytes | None = None
    error: bytes | None = None
    delay: Micros = 0
    at: Micros | None = None
    keep: Micros | None = None
    """Replaces the keep time of the job, if given."""
    continuation: NewJob | None = None
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()
    """Per start, the chain id that the handler received. A different chain at commit time is a Conflict."""
    failure: StoredFailure | None = None
    """The error group, if the attempt failed."""
    begun: bool = False
    """Of a released job: its handler had begun, so rates count the attempt."""
    waits: tuple[Wait, ...] = ()
    """Of a suspended job: what it waits for."""
    ahead: Micros = 0
    """How long after its claim the attempt began. The store adds it to `started_at`."""

    def __repr__(self) -> str:
        """Without the token and the payloads: a settlement may appear in the text of an error."""
        return f"Settlement({self.claim!r}, {self.status.value!r}, {self.outcome!r})"


class Returned(msgspec.Struct, frozen=True, gc=False):
    """The handler returned a value, already encoded."""

    output: bytes

    def __repr__(self) -> str:
        """Without the payload: an outcome may appear in the text of an error."""
        return f"Returned({len(self.output)} bytes)"


class Continued(msgspec.Struct, frozen=True, gc=False):
    """The handler returned a continuation: the next job of the chain."""

    job: NewJob


class Raised(msgspec.Struct, frozen=True):
    """The handler, a middleware or the engine raised an exception."""

    error: BaseException


class Released(msgspec.Struct, frozen=True):
    """The worker returns the job without a result. The attempt does not count. `begun`: its handler had begun."""

    begun: bool = False


class Mismatched(msgspec.Struct, frozen=True):
    """The input or the output of a blocker does not match the signatures of this worker. The handler was not called.

    The attempt does not count. A newer worker may be able to read the input.
    """

    error: PayloadRefused


class SuspendedFor(msgspec.Struct, frozen=True):
    """The handler waits for the end of sleeps or for messages. The attempt does not count, and continues later."""

    waits: tuple[Wait, ...]


Outcome = Returned | Continued | Raised | Released | Mismatched | SuspendedFor


class Reschedule(Exception):
    """Raise in a handler to run the job again at a given time. Counts as an attempt."""

    def __init__(self, delay: Seconds | None = None, *, at: datetime | None = None) -> None:
        if (delay is None) == (at is None):
            raise TypeError("Reschedule takes either delay= or at=")
        self.delay: Micros = 0 if delay is None else duration(seconds(delay))
        self.at: Micros | None = None if at is None else to_micros(at)
        super().__init__("rescheduled by its handler")


class Fail(Exception):
    """Raise in a handler to fail the job without more retries."""

    def __init__(self, reason: str = "failed by its handler") -> None:
        super().__init__(reason)


class Cancel(Exception):
    """Raise in a handler to cancel the job, and so its chain."""

    def __init__(self, reason: str = "cancelled by its handler") -> None:
        super().__init__(reason)


def create(
    job: NewJob, now: Micros = 0, seq: int = 0, *, status: Status = Status.PENDING, open_blockers: int = 0
) -> Record:
    """The record of a new job. The caller gives the status and the number of open blockers."""
    due = now + job.delay if job.at is None else job.at
    return Record(
        seq,
        job.id,
        job.type,
        job.chain_id,
        job.index,
        status,
        job.priority,
        0,
        max_attempts=job.max_attempts,
        input=job.input,
        key=job.key,
        created_at=now,
        scheduled_at=due if due > now else now,
        timeout=job.timeout,
        keep=job.keep,
        details=job.details,
        blockers=len(job.after),
        open_blockers=open_blockers,
        on_blocker_failure=job.on_blocker_failure,
        dedup_for=job.dedup_for,
    )


def hook_chain(failed: Record) -> NewJob | None:
    """The chain that the permanent failure of this job starts; None if its type had no hook when it was started.

    A store writes it in the operation that makes the job fail. So each failure starts exactly one chain. A settlement
    contains the chain with its id, so sending the settlement again starts no second one.
    """
    details = read_details(failed.details)
    hook = details.on_failure
    if hook is None:
        return None
    chain_id, lanes = new_id_on(details.shard), hook_lanes(hook)
    return NewJob(
        chain_id,
        hook.type,
        chain_id,
        hook_input(failed, hook.parameter),
        priority=hook.priority,
        max_attempts=hook.max_attempts,
        keep=hook.keep,
        details=hook_details(failed.id, details, hook),
        chosen=False,
        track=None if lanes is None else lanes.track,
    )


def key_taken_until(chain: ChainRecord) -> Micros | None:
    """When the key of a completed chain is free, if its first job says so; None if its keep time decides."""
    if chain.last.status is not Status.COMPLETED or chain.last.finished_at is None or chain.first.dedup_for is None:
        return None
    return chain.last.finished_at + chain.first.dedup_for
