"""Errors of a caller that waits: its timeout ended, or the work failed or was cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.error_types.holdfast_error import HoldfastError

if TYPE_CHECKING:
    from holdfast.core.failure import ErrorText


class WaitTimeout(HoldfastError, TimeoutError):
    """The timeout of a wait ended before the chain, or the job of a named queue, finished. The work continues."""

    def __init__(self, id: str, timeout: float, *, subject: str = "chain") -> None:
        self.id = id
        self.chain_id = id
        self.timeout = timeout
        super().__init__(f"{subject} {id!r} was not finished after {timeout:g} s; it continues, wait for it again")


class StepTimeout(HoldfastError, TimeoutError):
    """A step took longer than its `timeout=`."""

    def __init__(self, name: str, timeout: float) -> None:
        self.name = name
        self.timeout = timeout
        super().__init__(f"step {name!r} took longer than {timeout:g} s")


class MessageTimeout(HoldfastError, TimeoutError):
    """The timeout of a `receive` ended before the message arrived."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no message {name!r} arrived in time")


class _Ended(HoldfastError):
    def __init__(self, id: str, error: ErrorText | None, *, subject: str, verb: str) -> None:
        self.id = id
        self.error = error
        super().__init__(f"{subject} {id!r} {verb}" + (f": {error}" if error else ""))


class ChainFailed(_Ended):
    """The last job of the chain failed. `error` is its text, with `type`, `message` and `traceback`."""

    def __init__(self, chain_id: str, error: ErrorText | None = None) -> None:
        self.chain_id = chain_id
        super().__init__(chain_id, error, subject="chain", verb="failed")


class ChainCancelled(_Ended):
    """The chain was cancelled."""

    def __init__(self, chain_id: str, error: ErrorText | None = None) -> None:
        self.chain_id = chain_id
        super().__init__(chain_id, error, subject="chain", verb="was cancelled")


class JobFailed(_Ended):
    """A job of a named queue failed permanently.

    `payload` is the payload that the job was enqueued with; `attempts` is the number of its attempts. Both are None
    if they are not known. The payload is also None if it cannot be decoded.
    """

    def __init__(
        self, job_id: str, error: ErrorText | None = None, *, payload: Any = None, attempts: int | None = None
    ) -> None:
        self.job_id = job_id
        self.payload = payload
        self.attempts = attempts
        super().__init__(job_id, error, subject="job", verb="failed")


class AttemptsExhausted(JobFailed):
    """A job of a named queue failed in its last attempt."""


class JobCancelled(_Ended):
    """A job of a named queue was cancelled."""

    def __init__(self, job_id: str, error: ErrorText | None = None) -> None:
        self.job_id = job_id
        super().__init__(job_id, error, subject="job", verb="was cancelled")
