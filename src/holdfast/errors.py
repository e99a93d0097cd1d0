"""Errors that a caller can handle.

    HoldfastError
    ├── StoreUnavailable          the store cannot be reached, or did not respond in time
    │   └── StoreReplaced         the SQLite file was removed or replaced while this program used it
    ├── NotPermitted              the role, user or file mode lacks a privilege; the text names it
    ├── MissingExtra              a driver that is not installed              (also an ImportError)
    ├── PayloadRefused            a value cannot be stored exactly            (also a ValueError)
    │   └── WrongArguments        unknown, missing or ill-typed arguments     (also a TypeError)
    ├── UnknownJobType            no such name in the registry                (also a LookupError)
    ├── DuplicateJobType          a name declared twice                       (also a ValueError)
    ├── ChainNotFound, JobNotFound, LimitNotFound, ScheduleNotFound, StepNotFound   (also LookupErrors)
    ├── WorkerNotFound            no live worker has this id                  (also a LookupError)
    ├── WrongJobType              the chain's current job has another type than the caller named  (also a TypeError)
    ├── WrongBlockers             `after` lacks the chains that the job type declares  (also a TypeError and ValueError)
    ├── WrongShard                parts of one call belong on different shards  (also a ValueError)
    ├── AlreadyCompleted          the chain's current job was finished by another caller
    ├── NotPending                the status of the job does not allow the operation
    ├── StillReferenced           an unfinished job waits for a chain that should be deleted
    ├── ClaimLost                 this worker no longer holds the job; `reason` says why
    ├── DependencyCycle           chains would wait for each other forever    (also a ValueError)
    ├── Conflict                  data that a transaction depends on was changed by another caller before its commit
    │   └── Deadlock              two transactions waited for each other, and PostgreSQL ended this one
    ├── WaitTimeout               the timeout of the caller ended; the chain continues  (also a TimeoutError)
    ├── StepTimeout, MessageTimeout   a step took too long; a message did not arrive in time  (also TimeoutErrors)
    ├── ChainFailed, ChainCancelled
    └── JobFailed, JobCancelled   the same for a named queue
        └── AttemptsExhausted     a JobFailed without attempts left

Mistakes of the programmer raise plain TypeErrors and ValueErrors.
"""

from holdfast.error_types.holdfast_error import HoldfastError
from holdfast.error_types.missing import (
    ChainNotFound,
    JobNotFound,
    LimitNotFound,
    ScheduleNotFound,
    StepNotFound,
    UnknownJobType,
    WorkerNotFound,
)
from holdfast.error_types.refused import (
    AlreadyCompleted,
    ClaimLost,
    DependencyCycle,
    DuplicateJobType,
    NotPending,
    PayloadRefused,
    StillReferenced,
    WrongArguments,
    WrongBlockers,
    WrongJobType,
    WrongShard,
)
from holdfast.error_types.stores import Conflict, Deadlock, MissingExtra, NotPermitted, StoreReplaced, StoreUnavailable
from holdfast.error_types.waiting import (
    AttemptsExhausted,
    ChainCancelled,
    ChainFailed,
    JobCancelled,
    JobFailed,
    MessageTimeout,
    StepTimeout,
    WaitTimeout,
)

__all__ = [
    "AlreadyCompleted",
    "AttemptsExhausted",
    "ChainCancelled",
    "ChainFailed",
    "ChainNotFound",
    "ClaimLost",
    "Conflict",
    "Deadlock",
    "DependencyCycle",
    "DuplicateJobType",
    "HoldfastError",
    "JobCancelled",
    "JobFailed",
    "JobNotFound",
    "LimitNotFound",
    "MessageTimeout",
    "MissingExtra",
    "NotPending",
    "NotPermitted",
    "PayloadRefused",
    "ScheduleNotFound",
    "StepNotFound",
    "StepTimeout",
    "StillReferenced",
    "StoreReplaced",
    "StoreUnavailable",
    "UnknownJobType",
    "WaitTimeout",
    "WorkerNotFound",
    "WrongArguments",
    "WrongBlockers",
    "WrongJobType",
    "WrongShard",
]

for _name in __all__:
    # The stored type of an error, tracebacks and pickle name this module.
    globals()[_name].__module__ = __name__
