"""Operations that only read."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations.operation import Operation


class GetChains(Operation[list[ChainRecord | None]], frozen=True):
    """The chains with these ids, in order; None for an id without a chain.

    `fresh`: the chains were changed a moment ago. SQLite then reads without a thread, since the pages are in memory.
    """

    verb: ClassVar = "get_chains"
    writes: ClassVar = False
    ids: tuple[str, ...]
    fresh: bool = False


class GetJobs(Operation[list[Record | None]], frozen=True):
    """The jobs with these ids, in order; None for an id without a job."""

    verb: ClassVar = "get_jobs"
    writes: ClassVar = False
    ids: tuple[str, ...]


class GetBlockers(Operation[list[list[ChainRecord]]], frozen=True):
    """The blockers of each of these jobs, in the order in which they were given, without deleted chains."""

    verb: ClassVar = "get_blockers"
    writes: ClassVar = False
    job_ids: tuple[str, ...]


class GetDependents(Operation[list[Record]], frozen=True):
    """Up to `limit` unfinished jobs that name the chain as a blocker, oldest first."""

    verb: ClassVar = "get_dependents"
    writes: ClassVar = False
    chain_id: str
    limit: int


class GetStarted(Operation[list[str]], frozen=True):
    """The ids of up to `limit` chains that these jobs started, oldest first: in completions, and as failure hooks."""

    verb: ClassVar = "get_started"
    writes: ClassVar = False
    job_ids: tuple[str, ...]
    limit: int


class Waiting(NamedTuple):
    """A chain whose current job is blocked, and the blockers of this job, completed ones included."""

    chain_id: str
    after: tuple[str, ...]


class GetWaiting(Operation[list[Waiting]], frozen=True):
    """Up to `limit` chains whose current job is blocked, the oldest job first."""

    verb: ClassVar = "get_waiting"
    writes: ClassVar = False
    limit: int


LOG = "log"
"""The outcome of a row of the history that contains the log of an attempt: the text is its `error`."""


class PastAttempt(NamedTuple):
    """An attempt that did not complete its job, or the log of an attempt. Other attempts have no row of their own."""

    number: int
    worker: str | None
    started_at: Micros | None
    ended_at: Micros
    outcome: str
    error: bytes | None
    next_at: Micros | None


class GetHistory(Operation["tuple[Record, list[PastAttempt]] | None"], frozen=True):
    """A job and its past attempts, oldest first. The log of an attempt comes before the attempt."""

    verb: ClassVar = "get_history"
    writes: ClassVar = False
    job_id: str
    may_lag: bool = False


class TypeStats(NamedTuple):
    """The number of jobs of a type per status. `due` jobs can be claimed now; the first is due since `oldest_due`."""

    type: str
    counts: dict[Status, int]
    due: int
    scheduled: int
    oldest_due: Micros | None
    paused: bool


class GetStats(Operation[list[TypeStats]], frozen=True):
    """Counts per type, from one consistent snapshot."""

    verb: ClassVar = "get_stats"
    writes: ClassVar = False
    may_lag: bool = False


class NextDue(Operation["Micros | None"], frozen=True):
    """The time until a pending job of these types is due, or until the lease of a running one expires.

    Never negative. Paused types are left out. None if there is no such job.
    """

    verb: ClassVar = "next_due"
    writes: ClassVar = False
    types: tuple[str, ...]
