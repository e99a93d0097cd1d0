"""Verbs that only look."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations.operation import Operation


class GetChains(Operation[list[ChainRecord | None]], frozen=True):
    """The chains with these ids, in order; None where there is none.

    `fresh`: they were changed a moment ago, so a store that keeps a file need not expect to wait for the disk.
    """

    verb: ClassVar = "get_chains"
    writes: ClassVar = False
    ids: tuple[str, ...]
    fresh: bool = False


class GetJobs(Operation[list[Record | None]], frozen=True):
    """The jobs with these ids, in order; None where there is none."""

    verb: ClassVar = "get_jobs"
    writes: ClassVar = False
    ids: tuple[str, ...]


class GetBlockers(Operation[list[ChainRecord]], frozen=True):
    """The chains a job waits or waited for, in the order given when it was created."""

    verb: ClassVar = "get_blockers"
    writes: ClassVar = False
    job_id: str


class Waiting(NamedTuple):
    """A chain whose current job is blocked, and the chains that this job names as blockers, completed ones too."""

    chain_id: str
    after: tuple[str, ...]


class GetWaiting(Operation[list[Waiting]], frozen=True):
    """The chains whose current job is blocked, up to `limit` of them, the oldest job first."""

    verb: ClassVar = "get_waiting"
    writes: ClassVar = False
    limit: int


class Filter(msgspec.Struct, frozen=True):
    """Which rows a listing shows. Empty tuples and None mean any."""

    statuses: tuple[Status, ...] = ()
    scheduled: bool | None = None
    """True: only pending jobs that are due later."""
    types: tuple[str, ...] = ()
    chain_id: str | None = None
    key: str | None = None
    since: Micros | None = None
    until: Micros | None = None
    """Created at or after `since`, before `until`."""
    kept: bool = False
    """True, for chains only: none that is past its keep time, pruned or not."""
    failing: bool | None = None
    """True: only pending jobs that wait for another attempt after one that failed or was lost. False: only others."""


class ListChains(Operation[list[ChainRecord]], frozen=True):
    """Chains, newest first, after the row whose `seq` is `before`. The status is that of the last job; type, key and
    creation time are those of the first.

    `may_lag`, here and below: it is only to be looked at, so a store may ask a replica, which lags a little behind.
    """

    verb: ClassVar = "list_chains"
    writes: ClassVar = False
    filter: Filter
    limit: int
    before: int | None = None
    may_lag: bool = False


class ListJobs(Operation[list[Record]], frozen=True):
    """Jobs, newest first, after the row whose `seq` is `before`."""

    verb: ClassVar = "list_jobs"
    writes: ClassVar = False
    filter: Filter
    limit: int
    before: int | None = None
    may_lag: bool = False


class PastAttempt(NamedTuple):
    """An attempt that did not end its job well: the only kind that needs a row of its own."""

    number: int
    worker: str | None
    started_at: Micros | None
    ended_at: Micros
    outcome: str
    error: bytes | None
    next_at: Micros | None


class GetHistory(Operation["tuple[Record, list[PastAttempt]] | None"], frozen=True):
    """A job and its past attempts, oldest first."""

    verb: ClassVar = "get_history"
    writes: ClassVar = False
    job_id: str
    may_lag: bool = False


class TypeStats(NamedTuple):
    """How many jobs of a type stand where. `due` are those that may run now, the first since `oldest_due`."""

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
    """How long until a pending job of these (unpaused) types is due, or a lease of theirs runs out.

    Never negative; None if there is neither.
    """

    verb: ClassVar = "next_due"
    writes: ClassVar = False
    types: tuple[str, ...]
