"""Durable background jobs that commit with your data."""

from holdfast.client.client import Client
from holdfast.client.sync_client import SyncClient
from holdfast.core.failure import ErrorText
from holdfast.core.job import Chain, Job, Page, Report
from holdfast.core.lifecycle import Cancel, Fail, Reschedule
from holdfast.core.record import Status
from holdfast.core.retry import Retry
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer
from holdfast.engine.store import Store
from holdfast.engine.wakeups import ConnectedWakeups, Hints, Wakeups
from holdfast.errors import (
    AlreadyCompleted,
    AttemptsExhausted,
    ChainCancelled,
    ChainFailed,
    ChainNotFound,
    ClaimLost,
    Conflict,
    DependencyCycle,
    DuplicateJobType,
    HoldfastError,
    JobCancelled,
    JobFailed,
    JobNotFound,
    MissingExtra,
    NotPending,
    NotPermitted,
    PayloadRefused,
    StillReferenced,
    StoreReplaced,
    StoreUnavailable,
    UnknownJobType,
    WaitTimeout,
    WrongArguments,
    WrongJobType,
)
from holdfast.queue import (
    Completed,
    Duplicate,
    JsonCodec,
    MsgpackCodec,
    Queue,
    Queued,
    QueueJob,
    Reaper,
    SyncQueue,
    content_id,
)
from holdfast.registry.jobs import Bound, Jobs, JobType
from holdfast.supervisor import Supervisor
from holdfast.worker import Attempt, Middleware, SyncAttempt, Worker

__all__ = [
    "AlreadyCompleted",
    "Attempt",
    "AttemptsExhausted",
    "Bound",
    "Cancel",
    "Chain",
    "ChainCancelled",
    "ChainFailed",
    "ChainNotFound",
    "ClaimLost",
    "Client",
    "Completed",
    "Conflict",
    "ConnectedWakeups",
    "DependencyCycle",
    "Duplicate",
    "DuplicateJobType",
    "ErrorText",
    "Event",
    "Fail",
    "Hints",
    "HoldfastError",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobNotFound",
    "JobType",
    "Jobs",
    "JsonCodec",
    "Middleware",
    "MissingExtra",
    "MsgpackCodec",
    "NotPending",
    "NotPermitted",
    "Observer",
    "Page",
    "PayloadRefused",
    "Queue",
    "QueueJob",
    "Queued",
    "Reaper",
    "Report",
    "Reschedule",
    "Retry",
    "Status",
    "StillReferenced",
    "Store",
    "StoreReplaced",
    "StoreUnavailable",
    "Supervisor",
    "SyncAttempt",
    "SyncClient",
    "SyncQueue",
    "UnknownJobType",
    "WaitTimeout",
    "Wakeups",
    "Worker",
    "WrongArguments",
    "WrongJobType",
    "content_id",
]
