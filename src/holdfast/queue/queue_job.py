"""A job as the handler of a named queue sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from holdfast.worker.abort_signal import Signal

P_co = TypeVar("P_co", covariant=True)


@dataclass(frozen=True, slots=True)
class QueueJob(Generic[P_co]):
    """One attempt at a job. A handler may see the same job again after a crash, so it must bear being run twice."""

    id: str
    """As it was enqueued: a key for whoever is called from the handler to know a repetition by."""
    payload: P_co
    attempts: int
    """This attempt's number, from 1."""
    max_attempts: int | None
    """None is for ever."""
    created_at: datetime
    signal: Signal
    """Fires when the attempt is over before it ended: timeout, loss, shutdown. Async handlers are cancelled too."""
