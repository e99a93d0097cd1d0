"""How records come back from the scripts: msgpack arrays, payloads as they are. `requests` is the way there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import EventRow, PastAttempt

Number = int | str

LETTERS: dict[Status, str] = {
    Status.BLOCKED: "b",
    Status.PENDING: "p",
    Status.RUNNING: "r",
    Status.COMPLETED: "c",
    Status.FAILED: "f",
    Status.CANCELLED: "x",
}
STATUSES = {letter: status for status, letter in LETTERS.items()}

encode = msgspec.msgpack.Encoder().encode


class State(msgspec.Struct, array_like=True, frozen=True):
    """A job's row without its payloads, in the order of `scripts/shared/job.lua`."""

    seq: int
    created_at: int
    scheduled_at: Number | None
    status: str
    open_blockers: int
    type: str
    chain: str | None
    index: int
    priority: Number
    attempt: int
    max_attempts: Number | None
    key: str | None
    worker: str | None
    token: str | None
    leased_until: Number | None
    renewed_at: int | None
    progress: str | None
    progress_note: str | None
    started_at: int | None
    finished_at: int | None
    timeout: Number | None
    keep: Number | None
    trace: str | None
    blockers: int
    on_blocker_failure: str | None
    by: str | None
    mismatches: int | None = None
    mismatched_at: int | None = None


class Hinted(msgspec.Struct):
    """A wake-up as it is published."""

    due: list[str] = []
    finished: list[str] = []
    lost: list[str] = []
    recorded: bool = False
    anything: bool = False
    source: str = ""
    """Who published it, if not a script."""


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


_state = msgspec.msgpack.Decoder(State).decode
_past = msgspec.msgpack.Decoder(_Past).decode
_event = msgspec.msgpack.Decoder(_Event).decode
hinted = msgspec.msgpack.Decoder(Hinted).decode


_HEAD = b"\xdc\x00\x1a"
"""Makes an array of the values that a state is: twenty-six, one after another."""
_HEAD_MISMATCHED = b"\xdc\x00\x1c"
"""The same for the state of a job whose last attempt mismatched: two values more."""


def record(job_id: str, state: bytes, input: bytes, output: bytes | None = None, error: bytes | None = None) -> Record:
    """A job from its row."""
    try:
        row = _state(_HEAD + state)
    except msgspec.DecodeError:  # two values are left over
        row = _state(_HEAD_MISMATCHED + state)
    return Record(
        row.seq,
        job_id,
        row.type,
        row.chain or job_id,
        row.index,
        STATUSES[row.status],
        int(row.priority),
        row.attempt,
        _int(row.max_attempts),
        input,
        output,
        error,
        row.key,
        row.worker,
        row.token,
        _int(row.leased_until),
        row.renewed_at,
        None if row.progress is None else float(row.progress),
        row.progress_note,
        row.created_at,
        row.created_at if row.scheduled_at is None else int(row.scheduled_at),
        row.started_at,
        row.finished_at,
        _int(row.timeout),
        _int(row.keep),
        row.trace,
        row.blockers,
        row.open_blockers,
        row.on_blocker_failure or "wait",
        row.mismatches,
        row.mismatched_at,
    )


class Answer:
    """Reads a script's flat list of values from front to back."""

    def __init__(self, values: list[Any]) -> None:
        self._values = iter(values)

    def __iter__(self) -> Iterator[Any]:
        return self._values

    def next(self) -> Any:
        return next(self._values)

    def job(self) -> Record | None:
        """The next five values as a job; None where there is none."""
        return self._read(self.next())

    def jobs(self) -> Iterator[Record | None]:
        """All that is left."""
        for job_id in self._values:
            yield self._read(job_id)

    def chain(self) -> ChainRecord:
        """The next values as a chain: its first job, then its last or nothing where that is the same."""
        first = self.job()
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
    """A job's history: each attempt is its facts and its error."""
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
    """An event of the stream."""
    return EventRow(int(entry.partition(b"-")[0]), *_event(facts))


def _int(value: Number | None) -> int | None:
    return None if value is None else int(value)
