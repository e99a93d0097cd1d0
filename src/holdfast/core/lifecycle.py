"""What the outcome of an attempt means for its job. Pure: no clock, no I/O.

The worker describes the end of an attempt as an `Outcome`. `settle` decides, and a store writes the `Settlement` if the
claim still holds.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from holdfast.core.clock import SECOND, Micros, duration, to_micros
from holdfast.core.defaults import MISMATCH_TIMEOUT
from holdfast.core.failure import describe
from holdfast.core.record import FOR_EVER, ChainRecord, Claim, Record, Status
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.errors import PayloadRefused

SHORTEST_MISMATCH_DELAY = Retry(initial=0.1, multiplier=2, maximum=5, jitter=0)
"""The minimum delay after a mismatch. Without it, a type with a short `Retry` would be claimed in a busy loop."""

DedupScope = Literal["incomplete", "successful", "any"]
"""The chains of a key that count: unfinished ones; also completed ones until their key is free; every one.

The key of a completed chain is free when `dedup_for` has passed since it was completed. Without `dedup_for` it is free
when the chain is past its keep time.
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
    trace: str | None = None
    chosen: bool = True
    """True if the application chose the id, and so may use it again. A generated id is used once."""

    def __repr__(self) -> str:
        """Without the payload: a job may appear in the text of an error."""
        return f"NewJob(id={self.id!r}, type={self.type!r}, index={self.index})"


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The end of an attempt: a store writes it atomically if the claim holds.

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

    def __repr__(self) -> str:
        """Without the token and the payloads: a settlement may appear in the text of an error."""
        return f"Settlement({self.claim!r}, {self.status.value!r}, {self.outcome!r})"


class Returned(msgspec.Struct, frozen=True, gc=False):
    """The handler returned a value, already encoded."""

    output: bytes
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without the payload: an outcome may appear in the text of an error."""
        return f"Returned({len(self.output)} bytes)"


class Continued(msgspec.Struct, frozen=True, gc=False):
    """The handler returned a continuation: the next job of the chain."""

    job: NewJob
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()


class Raised(msgspec.Struct, frozen=True):
    """The handler, a middleware or the engine raised an exception."""

    error: BaseException


class Released(msgspec.Struct, frozen=True):
    """The worker returns the job unprocessed. The attempt does not count."""


class Mismatched(msgspec.Struct, frozen=True):
    """The input or the output of a blocker does not match the signatures of this worker. The handler was not called.

    The attempt does not count. A newer worker may be able to read the input.
    """

    error: PayloadRefused


Outcome = Returned | Continued | Raised | Released | Mismatched


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


def settle(job: Record, outcome: Outcome, retry: Retry, *, mismatch_timeout: Seconds = MISMATCH_TIMEOUT) -> Settlement:
    """Decide the status of a job after an attempt. `mismatch_timeout`: how long its input may be unreadable."""
    claim = job.claim
    match outcome:
        # The first two read attributes: a pattern that binds the fields takes as long as the rest of this function.
        case Returned():
            return Settlement(
                claim, Status.COMPLETED, "completed", outcome.output, starts=outcome.starts, expected=outcome.expected
            )
        case Continued():
            return Settlement(
                claim, Status.COMPLETED, "completed", continuation=outcome.job, starts=outcome.starts,
                expected=outcome.expected,
            )  # fmt: skip
        case Released():
            return Settlement(claim, Status.PENDING, "released")
        case Mismatched(error):
            return _settle_mismatch(job, error, retry, duration(seconds(mismatch_timeout)))
        case Raised(Cancel() as error):
            return Settlement(claim, Status.CANCELLED, "cancelled", error=describe(error))
        case Raised(Fail() as error):
            return Settlement(claim, Status.FAILED, "failed", error=describe(error))
        case Raised(error) if not has_attempts_left(job):
            return Settlement(claim, Status.FAILED, "failed", error=describe(error))
        case Raised(Reschedule(delay=delay, at=at) as error):
            cause = None if error.__cause__ is None else describe(error.__cause__)
            return Settlement(claim, Status.PENDING, "rescheduled", error=cause, delay=delay, at=at)
        case Raised(error):
            delay = duration(retry.delay(job.attempt))
            return Settlement(claim, Status.PENDING, "failed", error=describe(error), delay=delay)


def _settle_mismatch(job: Record, error: PayloadRefused, retry: Retry, timeout: Micros) -> Settlement:
    """Try again after the delay of the n-th failure, where n counts the mismatches in a row. Fail after the timeout.

    The times of the first mismatch and of this claim come from the store. The last delay ends with the timeout.
    """
    begun = job.started_at or 0
    left = timeout if job.mismatched_at is None else job.mismatched_at + timeout - begun
    if left <= 0:
        refused = PayloadRefused(f"{error}. No worker accepted it within {timeout / SECOND:g} s (mismatch_timeout)")
        return Settlement(job.claim, Status.FAILED, "mismatched", error=describe(refused))
    number = (job.mismatches or 0) + 1
    delay = duration(max(retry.delay(number), SHORTEST_MISMATCH_DELAY.delay(number)))
    # Not the error itself: its class may be private, and its traceback contains only the engine.
    stored = describe(PayloadRefused(str(error)))
    return Settlement(job.claim, Status.PENDING, "mismatched", error=stored, delay=min(delay, left))


def has_attempts_left(job: Record) -> bool:
    """Whether the job may run again after its current attempt."""
    return job.max_attempts in (None, FOR_EVER) or job.attempt < job.max_attempts


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
        trace=job.trace,
        blockers=len(job.after),
        open_blockers=open_blockers,
        on_blocker_failure=job.on_blocker_failure,
        dedup_for=job.dedup_for,
    )


def key_taken_until(chain: ChainRecord) -> Micros | None:
    """When the key of a completed chain is free, if its first job says so; None if its keep time decides."""
    if chain.last.status is not Status.COMPLETED or chain.last.finished_at is None or chain.first.dedup_for is None:
        return None
    return chain.last.finished_at + chain.first.dedup_for
