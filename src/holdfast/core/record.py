"""Jobs and chains as stores keep them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.details import origin_of, read_details

UNLIMITED = 0
"""A `max_attempts` without limit. None means that the default of the worker applies."""


class Status(StrEnum):
    """The status of a job."""

    BLOCKED = "blocked"
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    finished: bool

    def __init__(self, value: str) -> None:
        # An attribute instead of a set: hashing a member costs more than the rest of a transition.
        self.finished = value in ("completed", "failed", "cancelled")


FINISHED = frozenset(status for status in Status if status.finished)
UNFINISHED = frozenset(Status) - FINISHED


class Claim(NamedTuple):
    """Proof that a worker holds a job. The token is new for each claim, so the claim of an older attempt is invalid."""

    job_id: str
    token: str

    def __repr__(self) -> str:
        """Without the token: a claim may appear in the text of an error."""
        return f"Claim({self.job_id!r})"


class Record(msgspec.Struct, frozen=True, gc=False):
    """One job, exactly as a store keeps it. The views of the SQL stores have these columns in this order.

    Code that reads many rows gives the fields by position, because a name costs about 50 ns per row. Other code gives
    the fields up to `attempt` by position, and the others by name.
    """

    seq: int
    id: str
    type: str
    chain_id: str
    index: int
    status: Status
    priority: int
    attempt: int
    max_attempts: int | None = None
    input: bytes = b""
    output: bytes | None = None
    error: bytes | None = None
    key: str | None = None
    worker: str | None = None
    token: str | None = None
    leased_until: Micros | None = None
    renewed_at: Micros | None = None
    progress: float | None = None
    progress_note: str | None = None
    created_at: Micros = 0
    scheduled_at: Micros = 0
    started_at: Micros | None = None
    finished_at: Micros | None = None
    timeout: Micros | None = None
    keep: Micros | None = None
    details: str | None = None
    """JSON of `JobDetails`. None if all are empty."""
    blockers: int = 0
    open_blockers: int = 0
    on_blocker_failure: str = "wait"
    """"wait", "fail", or one of the rules of `holdfast.core.blocker_rules`."""
    mismatches: int | None = None
    """The number of mismatched attempts in a row. None if the last attempt was not mismatched."""
    mismatched_at: Micros | None = None
    """When the first attempt of that row ended."""
    dedup_for: Micros | None = None
    """How long the key is taken after the chain was completed. None: as long as the chain is kept."""

    def __repr__(self) -> str:
        """Without the token and the payloads: a record may appear in the text of an error."""
        return f"Record(id={self.id!r}, type={self.type!r}, status={self.status.value!r}, attempt={self.attempt})"

    @property
    def origin(self) -> str | None:
        return origin_of(self.details)

    @property
    def trace(self) -> str | None:
        return None if self.details is None else read_details(self.details).trace

    @property
    def carrier(self) -> dict[str, str]:
        return {} if self.details is None else read_details(self.details).carrier or {}

    @property
    def claim(self) -> Claim:
        assert self.token is not None, f"job {self.id} is {self.status}, so no worker holds it"
        # Half the time of Claim(...), whose constructor is Python code: this is part of every attempt.
        return tuple.__new__(Claim, (self.id, self.token))  # pyright: ignore[reportUnknownMemberType]


NOT_HELD: Final[dict[str, Any]] = {
    "worker": None,
    "token": None,
    "leased_until": None,
    "renewed_at": None,
    "mismatches": None,
    "mismatched_at": None,
}
"""The fields of a record that end with an attempt. A settled job also keeps the token of its settlement."""


def is_failing(job: Record) -> bool:
    """Whether a pending job waits for another attempt after one that failed or was lost."""
    return job.status is Status.PENDING and job.attempt > 0 and job.error is not None


class ChainRecord(NamedTuple):
    """A chain: its first job, which has the id of the chain, and its last job, which has its status and output."""

    first: Record
    last: Record
