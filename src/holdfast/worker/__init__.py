"""The worker: claims due jobs, runs their handlers and writes the outcomes."""

from holdfast.worker.abort_signal import AbortReason, Signal
from holdfast.worker.attempt import Attempt, Done
from holdfast.worker.middleware import Middleware
from holdfast.worker.process_child import Aborted
from holdfast.worker.steps.suspended import Suspended
from holdfast.worker.sync_attempt import SyncAttempt, SyncDone
from holdfast.worker.worker import Worker

__all__ = [
    "AbortReason",
    "Aborted",
    "Attempt",
    "Done",
    "Middleware",
    "Signal",
    "Suspended",
    "SyncAttempt",
    "SyncDone",
    "Worker",
]
