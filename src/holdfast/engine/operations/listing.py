"""Operations that list chains and jobs."""

from __future__ import annotations

from typing import ClassVar, TypeVar

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations.operation import Operation

T = TypeVar("T")
R = TypeVar("R")

SCAN = 10_000
"""Rows that one list reads, beyond those that an index finds for it."""


class Filter(msgspec.Struct, frozen=True):
    """Which chains or jobs a list contains. Empty tuples and None mean any.

    Of a chain, `chain_types`, `key` and the creation times are those of its first job, all others those of its last
    job. In a list of jobs, both are the job itself.
    """

    statuses: tuple[Status, ...] = ()
    scheduled: bool | None = None
    """True: only pending jobs that are due later."""
    types: tuple[str, ...] = ()
    chain_types: tuple[str, ...] = ()
    chain_id: str | None = None
    key: str | None = None
    created_since: Micros | None = None
    created_until: Micros | None = None
    """Created at or after `created_since`, before `created_until`."""
    failed_since: Micros | None = None
    """Failed, and finished at or after this time."""
    finished_since: Micros | None = None
    error: str | None = None
    """A part of the error's text. See `holdfast.core.error_search`."""
    worker: str | None = None
    """The worker that holds the job, or completed it."""
    kept: bool = False
    """True, for chains only: without chains whose keep time is over, whether they are pruned or not."""
    failing: bool | None = None
    """True: only pending jobs that wait for another attempt after one that failed or was lost. False: only others."""
    fingerprint: str | None = None
    """Only jobs that failed permanently with an error of this group."""


class Listing(list[T]):
    """The rows of a list. `next_before` is the `before` that continues it; None at its end."""

    next_before: int | None = None

    @staticmethod
    def cut(rows: list[R], seqs: list[int], limit: int, read_down_to: int | None = None) -> Listing[R]:
        """The first `limit` of these rows, of which one more than `limit` was asked for.

        `seqs` are the seqs of the rows. `read_down_to`: older rows were not read.
        """
        listing = Listing(rows[:limit])
        listing.next_before = seqs[limit - 1] if len(rows) > limit > 0 else read_down_to
        return listing


class ListChains(Operation[Listing[ChainRecord]], frozen=True):
    """Chains, newest first, older than the row with the `seq` `before`. The seq of a chain is that of its first job.

    Here and below: if the filter needs rows that no index finds, a store reads at most about `scan` of them. The list
    may then have fewer rows than `limit`, even none, and `next_before` continues it behind the rows that were read.
    The lists together skip and repeat no row. `may_lag`: the store may read from a replica, which may be slightly
    behind.
    """

    verb: ClassVar = "list_chains"
    writes: ClassVar = False
    filter: Filter
    limit: int
    before: int | None = None
    may_lag: bool = False
    scan: int = SCAN


class ListJobs(Operation[Listing[Record]], frozen=True):
    """Jobs, newest first, older than the row with the `seq` `before`."""

    verb: ClassVar = "list_jobs"
    writes: ClassVar = False
    filter: Filter
    limit: int
    before: int | None = None
    may_lag: bool = False
    scan: int = SCAN
