"""Operations: one value per verb, the same for every store, blocking and async.

A store performs an operation atomically. Each operation takes a batch. Every write after a claim contains the claim,
and the store refuses it unless the job is running with that token. Times come from the clock of the store.
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
