"""What an attempt's outcome means for its job. Pure: no clock, no I/O.

The worker turns whatever happened into an `Outcome`, `settle` decides, and a store writes the `Settlement`
if, and only if, the claim is still good.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from holdfast.core.clock import SECOND, Micros, duration, to_micros
from holdfast.core.defaults import MISMATCH_TIMEOUT
from holdfast.core.failure import describe
from holdfast.core.record import FOR_EVER, Claim, Record, Status
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.errors import PayloadRefused

SHORTEST_MISMATCH_DELAY = Retry(initial=0.1, multiplier=2, maximum=5, jitter=0)
"""A type whose `Retry` hardly waits must not make a worker claim the same unreadable job over and over."""

DedupScope = Literal["incomplete", "successful", "any"]
"""Which chains of a key count: unfinished ones; also completed ones that are not past their keep time; every one."""


class NewJob(msgspec.Struct, frozen=True, gc=False):
    """A job to be created: the first of a chain (index 0, id == chain_id) or a continuation.

    It is due at `at`, or `delay` after the store's now; past times are clamped to now.
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
    key: str | None = None
    dedup: DedupScope = "incomplete"
    window: Micros | None = None
    exclude: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    on_blocker_failure: str = "wait"
    trace: str | None = None
    chosen: bool = True
    """Whether the application gave the id, and so may give it again. One that was generated is used once."""

    def __repr__(self) -> str:
        """Without the payload: a job may appear in the text of an error."""
        return f"NewJob(id={self.id!r}, type={self.type!r}, index={self.index})"


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """Where an attempt leaves its job: what a store writes under the claim, in one step.

    `outcome` is the word for the job's report. `continuation` and `starts` are created in the same step.
    """

    claim: Claim
    status: Status
    outcome: str
    output: bytes | None = None
    error: bytes | None = None
    delay: Micros = 0
    at: Micros | None = None
    keep: Micros | None = None
    """Replaces the job's keep time, where given."""
    continuation: NewJob | None = None
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()
    """Per start, the chain id the handler was told; another answer at commit time is a Conflict."""

    def __repr__(self) -> str:
        """Without the token and the payloads: a settlement may appear in the text of an error."""
        return f"Settlement({self.claim!r}, {self.status.value!r}, {self.outcome!r})"


class Returned(msgspec.Struct, frozen=True, gc=False):
    """The handler finished with a value, already encoded."""

    output: bytes
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without the payload: an outcome may appear in the text of an error."""
        return f"Returned({len(self.output)} bytes)"


class Continued(msgspec.Struct, frozen=True, gc=False):
    """The handler finished by handing over to the chain's next job."""

    job: NewJob
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()


class Raised(msgspec.Struct, frozen=True):
    """The handler, a middleware or the engine around it raised."""

    error: BaseException


class Released(msgspec.Struct, frozen=True):
    """The worker gives the job back untouched: its attempt does not count."""


class Mismatched(msgspec.Struct, frozen=True):
    """The input, or a blocker's output, does not match this worker's signatures: the handler was not called.

    The attempt does not count. A newer worker may be able to read it.
    """

    error: PayloadRefused


Outcome = Returned | Continued | Raised | Released | Mismatched


class Reschedule(Exception):
    """Raise in a handler to run the job again, at a time of your own. Counts as an attempt."""

    def __init__(self, delay: Seconds | None = None, *, at: datetime | None = None) -> None:
        if (delay is None) == (at is None):
            raise TypeError("Reschedule takes either delay= or at=")
        self.delay: Micros = 0 if delay is None else duration(seconds(delay))
        self.at: Micros | None = None if at is None else to_micros(at)
        super().__init__("rescheduled by its handler")


class Fail(Exception):
    """Raise in a handler to fail the job for good: no more retries."""

    def __init__(self, reason: str = "failed by its handler") -> None:
        super().__init__(reason)


class Cancel(Exception):
    """Raise in a handler to cancel the job, and so its chain."""

    def __init__(self, reason: str = "cancelled by its handler") -> None:
        super().__init__(reason)


def settle(job: Record, outcome: Outcome, retry: Retry, *, mismatch_timeout: Seconds = MISMATCH_TIMEOUT) -> Settlement:
    """Decide where an attempt leaves its job. `mismatch_timeout`: how long its input may be unreadable."""
    claim = job.claim
    match outcome:
        # The first two take their fields by name: a pattern that binds them takes as long as the rest of this.
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
    """Try again after the delay of the n-th failure, n being the mismatches in a row; fail when the time is over.

    Both times are the store's: of the first mismatch, and of this claim. The last delay ends with the timeout.
    """
    begun = job.started_at or 0
    left = timeout if job.mismatched_at is None else job.mismatched_at + timeout - begun
    if left <= 0:
        refused = PayloadRefused(f"{error}. No worker accepted it within {timeout / SECOND:g} s (mismatch_timeout)")
        return Settlement(job.claim, Status.FAILED, "mismatched", error=describe(refused))
    number = (job.mismatches or 0) + 1
    delay = duration(max(retry.delay(number), SHORTEST_MISMATCH_DELAY.delay(number)))
    # Not the error itself: its class may be a private one, and its traceback shows the engine only.
    stored = describe(PayloadRefused(str(error)))
    return Settlement(job.claim, Status.PENDING, "mismatched", error=stored, delay=min(delay, left))


def has_attempts_left(job: Record) -> bool:
    """Whether the job may be tried again after its current attempt."""
    return job.max_attempts in (None, FOR_EVER) or job.attempt < job.max_attempts


def create(
    job: NewJob, now: Micros = 0, seq: int = 0, *, status: Status = Status.PENDING, open_blockers: int = 0
) -> Record:
    """The record that creating this job makes, blockers aside."""
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
    )
