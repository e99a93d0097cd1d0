"""A job as the handler of a named queue sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from holdfast.worker.abort_signal import Signal

P_co = TypeVar("P_co", covariant=True)


@dataclass(frozen=True, slots=True)
class QueueJob(Generic[P_co]):
    """One attempt of a job. After a crash the same job runs again, so a handler must tolerate a repetition."""

    id: str
    """The id that it was enqueued under. Other services can use it to detect a repeated call."""
    payload: P_co = field(repr=False)
    attempts: int
    """This attempt's number, from 1."""
    max_attempts: int | None
    """None: no limit."""
    created_at: datetime
    signal: Signal
    """Fires when the attempt must stop early: timeout, lost claim, shutdown. Async handlers are cancelled too."""
