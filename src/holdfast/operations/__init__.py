"""The verbs, as values: what to do, said once for every store, sync and async.

A store performs an operation as one atomic step. Each takes a batch. Whatever writes after a claim names the
claim, and a store refuses it unless the job is running under that very token. Times come from the store's clock.
"""

from holdfast.operations.completing import Complete, LockChain, Step
from holdfast.operations.creating import Preview, Start, Started
from holdfast.operations.events import EventRow, Listen, ReadEvents, Unlisten
from holdfast.operations.health import Examine, Finding
from holdfast.operations.holding import (
    ClaimJobs,
    Guard,
    Reap,
    Reaped,
    Renew,
    ReportProgress,
    Settle,
    Settled,
    TypeTerms,
)
from holdfast.operations.marking import FindMarks, Mark
from holdfast.operations.operating import Cancel, Delete, Keep, Pause, Prune, Resume, RetryJobs, RunNow
from holdfast.operations.operation import LostReason, Operation
from holdfast.operations.reading import (
    Filter,
    GetBlockers,
    GetChains,
    GetHistory,
    GetJobs,
    GetStats,
    GetWaiting,
    ListChains,
    ListJobs,
    NextDue,
    PastAttempt,
    TypeStats,
    Waiting,
)

__all__ = [
    "Cancel",
    "ClaimJobs",
    "Complete",
    "Delete",
    "EventRow",
    "Examine",
    "Filter",
    "FindMarks",
    "Finding",
    "GetBlockers",
    "GetChains",
    "GetHistory",
    "GetJobs",
    "GetStats",
    "GetWaiting",
    "Guard",
    "Keep",
    "ListChains",
    "ListJobs",
    "Listen",
    "LockChain",
    "LostReason",
    "Mark",
    "NextDue",
    "Operation",
    "PastAttempt",
    "Pause",
    "Preview",
    "Prune",
    "ReadEvents",
    "Reap",
    "Reaped",
    "Renew",
    "ReportProgress",
    "Resume",
    "RetryJobs",
    "RunNow",
    "Settle",
    "Settled",
    "Start",
    "Started",
    "Step",
    "TypeStats",
    "TypeTerms",
    "Unlisten",
    "Waiting",
]
