"""Decodes the replies of the scripts: msgpack arrays for records, payloads as plain bytes. `encode` is the reverse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import EventRow, PastAttempt
from holdfast.stores.redis.verbs.short_details import lengthen

Number = int | str

STATUS_LETTERS: dict[Status, str] = {
    Status.BLOCKED: "b",
    Status.PENDING: "p",
    Status.RUNNING: "r",
    Status.COMPLETED: "c",
    Status.FAILED: "f",
    Status.CANCELLED: "x",
}
STATUSES = {letter: status for status, letter in STATUS_LETTERS.items()}


class StoredState(msgspec.Struct, array_like=True, frozen=True):
    """The state of a job without its payloads, in the order of `scripts/shared/job.lua`.

    Integers that Lua cannot represent exactly, and the progress, are stored as text.
    """

    seq: int
    created_at: int
    scheduled_at: int | None
    status: str
    open_blockers: int
    type: str
    chain: str | None
    index: int
    priority: int
    attempt: int
    max_attempts: int | None
    key: str | None
    worker: str | None
    token: str | None
    leased_until: int | None
    renewed_at: int | None
    progress: float | None
    progress_note: str | None
    started_at: int | None
    finished_at: int | None
    timeout: int | None
    keep: int | None
    details: str | None
    blockers: int
    on_blocker_failure: str | None
    by: str | None
    mismatches: int | None = None
    mismatched_at: int | None = None
    dedup_for: int | None = None


class HintMessage(msgspec.Struct):
    """A published wake-up."""

    due: list[str] = []
    finished: list[str] = []
    lost: list[str] = []
    recorded: bool = False
    anything: bool = False
    workers: list[str] = []
    source: str = ""
    """Id of the publisher; empty if a script published it."""


class _Past(NamedTuple):
    number: int
    worker: str | None
    started_at: int | None
    ended_at: int
    outcome: str
    next_at: Number | None
    has_error: bool
    token: str | None


class _Event(NamedTuple):
    at: int
    kind: str
    job_id: str
    chain_id: str
    type: str
    attempt: int
    worker: str | None


# strict=False: numbers that are stored as text become numbers.
_state = msgspec.msgpack.Decoder(StoredState, strict=False).decode
_past = msgspec.msgpack.Decoder(_Past).decode
_event = msgspec.msgpack.Decoder(_Event).decode
decode_hints = msgspec.msgpack.Decoder(HintMessage).decode


TAIL = StoredState.__struct_fields__[-len(StoredState.__struct_defaults__) :]
"""The last values of a state. They are stored if one of them is set."""


def _header(values: int) -> bytes:
    """The msgpack header of an array: a state is stored without a header."""
    return b"\xdc" + values.to_bytes(2, "big")


_STATE_HEADER = _header(len(StoredState.__struct_fields__) - len(TAIL))
_LONG_HEADER = _header(len(StoredState.__struct_fields__))


def record(job_id: str, state: bytes, input: bytes, output: bytes | None = None, error: bytes | None = None) -> Record:
    """A job from its stored fields."""
    try:
        row = _state(_STATE_HEADER + state)
    except msgspec.DecodeError:  # with its tail
        row = _state(_LONG_HEADER + state)
    # By position, in the order of `Record`: each name would cost about 50 ns, for every job that is read.
    return Record(
        row.seq,
        job_id,
        row.type,
        row.chain or job_id,
        row.index,
        STATUSES[row.status],
        row.priority,
        row.attempt,
        row.max_attempts,
        input,
        output,
        error,
        row.key,
        row.worker,
        row.token,
        row.leased_until,
        row.renewed_at,
        row.progress,
        row.progress_note,
        row.created_at,
        row.created_at if row.scheduled_at is None else row.scheduled_at,
        row.started_at,
        row.finished_at,
        row.timeout,
        row.keep,
        row.details and lengthen(row.details, row.type, row.priority),
        row.blockers,
        row.open_blockers,
        row.on_blocker_failure or "wait",
        row.mismatches,
        row.mismatched_at,
        row.dedup_for,
    )


class ReplyReader:
    """Reads the flat list of values that a script replied, from front to back."""

    def __init__(self, values: list[Any]) -> None:
        self._values = iter(values)

    def __iter__(self) -> Iterator[Any]:
        return self._values

    def next(self) -> Any:
        return next(self._values)

    def job(self) -> Record | None:
        """The next five values as a job; None if the job does not exist."""
        return self._read(self.next())

    def jobs(self) -> Iterator[Record | None]:
        """The remaining values as jobs."""
        for job_id in self._values:
            yield self._read(job_id)

    def chains(self) -> Iterator[ChainRecord]:
        """The remaining values as chains."""
        for job_id in self._values:
            yield self._chain(job_id)

    def chain(self) -> ChainRecord:
        """The next values as a chain: its first job, then its last job, or None if both are the same job."""
        return self._chain(self.next())

    def _chain(self, first_id: bytes) -> ChainRecord:
        first = self._read(first_id)
        assert first is not None, "a script shows only chains that exist"
        last_id = self.next()
        last = first if last_id is None else self._read(last_id)
        assert last is not None, "a chain's last job exists as long as its first"
        return ChainRecord(first, last)

    def _read(self, job_id: bytes) -> Record | None:
        values = self._values
        state, input, output, error = next(values), next(values), next(values), next(values)
        return None if state is None else record(job_id.decode(), state, input, output, error)


def past_attempts(values: Iterator[Any]) -> list[PastAttempt]:
    """A job's history: two values per attempt, its facts and its error."""
    attempts: list[PastAttempt] = []
    for facts, error in zip(values, values, strict=True):
        past = _past(facts)
        attempts.append(
            PastAttempt(
                past.number,
                past.worker,
                past.started_at,
                past.ended_at,
                past.outcome,
                error if past.has_error else None,
                _int(past.next_at),
            )
        )
    return attempts


def event_row(entry: bytes, facts: bytes) -> EventRow:
    """An event from an entry of the stream."""
    return EventRow(int(entry.partition(b"-")[0]), *_event(facts))


def _int(value: Number | None) -> int | None:
    return None if value is None else int(value)
