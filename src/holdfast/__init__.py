"""Durable background jobs that commit with your data."""

from holdfast.client.client import Client
from holdfast.client.sync_client import SyncClient
from holdfast.core.counter_report import Counters, FrequentError, MinuteCounts, TypeCounters
from holdfast.core.counters import Counts, Histogram
from holdfast.core.explanation import Explanation, Reason
from holdfast.core.failure import ErrorText
from holdfast.core.hooks import Failure
from holdfast.core.job import AuditEntry, Chain, Job, Page, Report
from holdfast.core.lifecycle import Cancel, Fail, Reschedule
from holdfast.core.record import Status
from holdfast.core.retry import Retry
from holdfast.core.step_report import Step
from holdfast.core.worker_record import LiveWorker
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
    Deadlock,
    DependencyCycle,
    DuplicateJobType,
    HoldfastError,
    JobCancelled,
    JobFailed,
    JobNotFound,
    LimitNotFound,
    MessageTimeout,
    MissingExtra,
    NotPending,
    NotPermitted,
    PayloadRefused,
    ScheduleNotFound,
    StepNotFound,
    StepTimeout,
    StillReferenced,
    StoreReplaced,
    StoreUnavailable,
    UnknownJobType,
    WaitTimeout,
    WorkerNotFound,
    WrongArguments,
    WrongBlockers,
    WrongJobType,
    WrongShard,
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
from holdfast.registry.declared_blockers import each
from holdfast.registry.jobs import Bound, Jobs, JobType
from holdfast.registry.limits import Limit, Order, Rate
from holdfast.registry.plugin import Plugin, StartingJob
from holdfast.supervisor import Group, Supervisor
from holdfast.worker import Attempt, Middleware, Suspended, SyncAttempt, Worker

__all__ = [
    "AlreadyCompleted",
    "Attempt",
    "AttemptsExhausted",
    "AuditEntry",
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
    "Counters",
    "Counts",
    "Deadlock",
    "DependencyCycle",
    "Duplicate",
    "DuplicateJobType",
    "ErrorText",
    "Event",
    "Explanation",
    "Fail",
    "Failure",
    "FrequentError",
    "Group",
    "Hints",
    "Histogram",
    "HoldfastError",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobNotFound",
    "JobType",
    "Jobs",
    "JsonCodec",
    "Limit",
    "LimitNotFound",
    "LiveWorker",
    "MessageTimeout",
    "Middleware",
    "MinuteCounts",
    "MissingExtra",
    "MsgpackCodec",
    "NotPending",
    "NotPermitted",
    "Observer",
    "Order",
    "Page",
    "PayloadRefused",
    "Plugin",
    "Queue",
    "QueueJob",
    "Queued",
    "Rate",
    "Reaper",
    "Reason",
    "Report",
    "Reschedule",
    "Retry",
    "ScheduleNotFound",
    "StartingJob",
    "Status",
    "Step",
    "StepNotFound",
    "StepTimeout",
    "StillReferenced",
    "Store",
    "StoreReplaced",
    "StoreUnavailable",
    "Supervisor",
    "Suspended",
    "SyncAttempt",
    "SyncClient",
    "SyncQueue",
    "TypeCounters",
    "UnknownJobType",
    "WaitTimeout",
    "Wakeups",
    "Worker",
    "WorkerNotFound",
    "WrongArguments",
    "WrongBlockers",
    "WrongJobType",
    "WrongShard",
    "content_id",
    "each",
]
