"""What a failure hook receives: the failed job as a `Failure`, and the payload of the hook's chain."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.core.failure import read_error
from holdfast.core.record import Record


class Failure(msgspec.Struct, frozen=True):
    """A job that failed permanently, or the last job of a chain that did not complete.

    `input` has the arguments by name as plain JSON values. `error` is one line, "TYPE: MESSAGE"; the traceback is in
    the report of the job. `attempts` is 0 if the handler never ran.
    """

    job_id: str
    chain_id: str
    type: str
    input: Any
    error: str
    attempts: int

    def __repr__(self) -> str:
        """Without the payload: a failure may appear in a log."""
        return f"Failure(job_id={self.job_id!r}, type={self.type!r}, attempts={self.attempts})"


def hook_input(failed: Record, parameter: str) -> bytes:
    """The input of a hook with this parameter. The input of the failed job is copied byte by byte."""
    failure = Failure(
        failed.id, failed.chain_id, failed.type, msgspec.Raw(failed.input), error_line(failed.error), failed.attempt
    )
    return msgspec.json.encode({parameter: failure})


def failure_of(job: Record) -> Failure:
    """A job that did not complete, with its input decoded."""
    return Failure(job.id, job.chain_id, job.type, msgspec.json.decode(job.input), error_line(job.error), job.attempt)


def error_line(stored: bytes | None) -> str:
    """A stored error in one line, as plain text: a payload cannot contain an `ErrorText`."""
    error = read_error(stored)
    return "" if error is None else "".join(error)
