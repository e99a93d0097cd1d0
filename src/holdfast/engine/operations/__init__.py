"""The verbs, as values: what to do, said once for every store, sync and async.

A store performs an operation as one atomic step. Each takes a batch. Whatever writes after a claim names the
claim, and a store refuses it unless the job is running under that very token. Times come from the store's clock.
"""

from holdfast.core.lost_claims import LostReason
from holdfast.engine.operations.attempts import (
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
from holdfast.engine.operations.complete import Complete, Completion, LockChain
from holdfast.engine.operations.events import EventRow, Listen, ReadEvents, Unlisten
from holdfast.engine.operations.examine import Examine, Finding
from holdfast.engine.operations.marks import FindMarks, Mark
from holdfast.engine.operations.operate import Cancel, Delete, Keep, Pause, Prune, Resume, RetryJobs, RunNow
from holdfast.engine.operations.operation import Operation
from holdfast.engine.operations.read import (
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
from holdfast.engine.operations.start import Preview, Start, Started

__all__ = [
    "Cancel",
    "ClaimJobs",
    "Complete",
    "Completion",
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
    "TypeStats",
    "TypeTerms",
    "Unlisten",
    "Waiting",
]
