"""Operations: one value per verb, the same for every store, blocking and async.

A store performs an operation atomically. Each operation takes a batch. Every write after a claim contains the claim,
and the store refuses it unless the job is running with that token. Times come from the clock of the store.
"""

from holdfast.core.lost_claims import LostReason
from holdfast.engine.operations.attempts import (
    WRITTEN,
    AttemptLog,
    ClaimedJobs,
    ClaimJobs,
    Guard,
    Reap,
    Reaped,
    Renew,
    ReportProgress,
    SaveLogs,
    Settle,
    Settled,
    TypeTerms,
)
from holdfast.engine.operations.audit import AUDIT_KEPT, Audit, AuditRow, GetAudit
from holdfast.engine.operations.complete import Complete, Completion, LockChain
from holdfast.engine.operations.counters import GetCounters, GetErrors
from holdfast.engine.operations.events import EventRow, Listen, ReadEvents, Unlisten
from holdfast.engine.operations.examine import Examine, Finding
from holdfast.engine.operations.explain import Explain
from holdfast.engine.operations.limits import (
    DeclareLimits,
    GetLanes,
    GetLimits,
    LaneReport,
    LimitDeclaration,
    LimitReport,
    SetLimit,
    SkipJobs,
)
from holdfast.engine.operations.listing import Filter, ListChains, Listing, ListJobs
from holdfast.engine.operations.marks import FindMarks, FoundMarks, Mark
from holdfast.engine.operations.operate import CancelChains, Delete, Keep, Pause, Prune, Resume, RetryJobs, RunNow
from holdfast.engine.operations.operation import Operation
from holdfast.engine.operations.placement import Place
from holdfast.engine.operations.read import (
    LOG,
    GetBlockers,
    GetChains,
    GetDependents,
    GetHistory,
    GetJobs,
    GetStarted,
    GetStats,
    GetWaiting,
    NextDue,
    PastAttempt,
    TypeStats,
    Waiting,
)
from holdfast.engine.operations.schedules import (
    SCHEDULES_CHANGED,
    ChangeSchedule,
    DueSchedules,
    FoundSchedules,
    GetSchedules,
    StoredSchedule,
)
from holdfast.engine.operations.start import PreviewStart, Start, Started
from holdfast.engine.operations.steps import GetMessages, GetSteps, SaveSteps, SendMessage
from holdfast.engine.operations.workers import DrainWorker, GetWorkers, RemoveWorker, ReportWorker, WorkerReport

__all__ = [
    "AUDIT_KEPT",
    "LOG",
    "SCHEDULES_CHANGED",
    "WRITTEN",
    "AttemptLog",
    "Audit",
    "AuditRow",
    "CancelChains",
    "ChangeSchedule",
    "ClaimJobs",
    "ClaimedJobs",
    "Complete",
    "Completion",
    "DeclareLimits",
    "Delete",
    "DrainWorker",
    "DueSchedules",
    "EventRow",
    "Examine",
    "Explain",
    "Filter",
    "FindMarks",
    "Finding",
    "FoundMarks",
    "FoundSchedules",
    "GetAudit",
    "GetBlockers",
    "GetChains",
    "GetCounters",
    "GetDependents",
    "GetErrors",
    "GetHistory",
    "GetJobs",
    "GetLanes",
    "GetLimits",
    "GetMessages",
    "GetSchedules",
    "GetStarted",
    "GetStats",
    "GetSteps",
    "GetWaiting",
    "GetWorkers",
    "Guard",
    "Keep",
    "LaneReport",
    "LimitDeclaration",
    "LimitReport",
    "ListChains",
    "ListJobs",
    "Listen",
    "Listing",
    "LockChain",
    "LostReason",
    "Mark",
    "NextDue",
    "Operation",
    "PastAttempt",
    "Pause",
    "Place",
    "PreviewStart",
    "Prune",
    "ReadEvents",
    "Reap",
    "Reaped",
    "RemoveWorker",
    "Renew",
    "ReportProgress",
    "ReportWorker",
    "Resume",
    "RetryJobs",
    "RunNow",
    "SaveLogs",
    "SaveSteps",
    "SendMessage",
    "SetLimit",
    "Settle",
    "Settled",
    "SkipJobs",
    "Start",
    "Started",
    "StoredSchedule",
    "TypeStats",
    "TypeTerms",
    "Unlisten",
    "Waiting",
    "WorkerReport",
]
