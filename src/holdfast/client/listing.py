"""List chains and jobs, in pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.references import Names, Statuses, listing_filter
from holdfast.core.job import Chain, Job, Page
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import Filter, ListChains, Listing, ListJobs
from holdfast.engine.procedures import Procedure
from holdfast.registry.jobs import Jobs

_MOST = 1000
"""The largest number of items of a page."""
_SHARDED_DIGITS = 4000
"""A sharded store combines the positions of its shards in one number, and checks it. Python reads 4,300 digits."""


class ListingMethods(Capability):
    """Listing, async."""

    async def list_chains(
        self,
        *,
        status: Statuses | None = None,
        type: Names | None = None,
        chain_type: Names | None = None,
        key: str | None = None,
        created_since: datetime | None = None,
        created_until: datetime | None = None,
        failed_since: datetime | None = None,
        finished_since: datetime | None = None,
        error: str | None = None,
        worker: str | None = None,
        fingerprint: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        tx: Any = None,
    ) -> Page[Chain[Any]]:
        """Chains, newest first. Pages never skip or repeat a chain, even if chains are created or deleted meanwhile.

        `type`, `error`, `worker` and `fingerprint` are those of the last job of a chain, `chain_type` and `key` those
        of the first. `error` is a part of the error's text, case is ignored; `fingerprint` is one of `errors()`.
        A call reads a limited number of rows: if no index finds the matching ones, the page may have fewer items than
        `limit`, even none. The list has ended when `next_cursor` is None.
        """
        shown = listing_filter(
            status=status, type=type, chain_type=chain_type, key=key, created_since=created_since,
            created_until=created_until, failed_since=failed_since, finished_since=finished_since, error=error,
            worker=worker, fingerprint=fingerprint,
        )  # fmt: skip
        return await self._run(_list_chains(self.jobs, shown, cursor, limit, sharded=self.store.sharded), tx)

    async def list_jobs(
        self,
        *,
        chain: Chain[Any] | Job | str | None = None,
        status: Statuses | None = None,
        type: Names | None = None,
        key: str | None = None,
        created_since: datetime | None = None,
        created_until: datetime | None = None,
        failed_since: datetime | None = None,
        finished_since: datetime | None = None,
        error: str | None = None,
        worker: str | None = None,
        fingerprint: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        tx: Any = None,
    ) -> Page[Job]:
        """Jobs, newest first, with the same filters and the same kind of pages."""
        shown = listing_filter(
            status=status, type=type, chain=chain, key=key, created_since=created_since, created_until=created_until,
            failed_since=failed_since, finished_since=finished_since, error=error, worker=worker,
            fingerprint=fingerprint,
        )  # fmt: skip
        return await self._run(_list_jobs(self.jobs, shown, cursor, limit, sharded=self.store.sharded), tx)


class SyncListingMethods(SyncCapability):
    """Listing, blocking."""

    def list_chains(
        self,
        *,
        status: Statuses | None = None,
        type: Names | None = None,
        chain_type: Names | None = None,
        key: str | None = None,
        created_since: datetime | None = None,
        created_until: datetime | None = None,
        failed_since: datetime | None = None,
        finished_since: datetime | None = None,
        error: str | None = None,
        worker: str | None = None,
        fingerprint: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        tx: Any = None,
    ) -> Page[Chain[Any]]:
        """Chains, newest first. Pages never skip or repeat a chain, even if chains are created or deleted meanwhile.

        `type`, `error`, `worker` and `fingerprint` are those of the last job of a chain, `chain_type` and `key` those
        of the first. `error` is a part of the error's text, case is ignored; `fingerprint` is one of `errors()`.
        A call reads a limited number of rows: if no index finds the matching ones, the page may have fewer items than
        `limit`, even none. The list has ended when `next_cursor` is None.
        """
        shown = listing_filter(
            status=status, type=type, chain_type=chain_type, key=key, created_since=created_since,
            created_until=created_until, failed_since=failed_since, finished_since=finished_since, error=error,
            worker=worker, fingerprint=fingerprint,
        )  # fmt: skip
        return self._run(_list_chains(self.jobs, shown, cursor, limit, sharded=self.store.sharded), tx)

    def list_jobs(
        self,
        *,
        chain: Chain[Any] | Job | str | None = None,
        status: Statuses | None = None,
        type: Names | None = None,
        key: str | None = None,
        created_since: datetime | None = None,
        created_until: datetime | None = None,
        failed_since: datetime | None = None,
        finished_since: datetime | None = None,
        error: str | None = None,
        worker: str | None = None,
        fingerprint: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        tx: Any = None,
    ) -> Page[Job]:
        """Jobs, newest first, with the same filters and the same kind of pages."""
        shown = listing_filter(
            status=status, type=type, chain=chain, key=key, created_since=created_since, created_until=created_until,
            failed_since=failed_since, finished_since=finished_since, error=error, worker=worker,
            fingerprint=fingerprint,
        )  # fmt: skip
        return self._run(_list_jobs(self.jobs, shown, cursor, limit, sharded=self.store.sharded), tx)


def page(
    listing_filter: Filter, cursor: str | None, limit: int, *, sharded: bool, may_lag: bool = False
) -> Procedure[Page[ChainRecord]]:
    """A page of the chains that a filter shows, newest first, as they are stored."""
    _check_limit(limit)
    found: Listing[ChainRecord] = yield ListChains(
        listing_filter, limit, _before(cursor, sharded=sharded), may_lag=may_lag
    )
    return Page(found, _cursor(found))


def all_chains(listing_filter: Filter) -> Procedure[list[ChainRecord]]:
    """All chains that a filter shows, newest first."""
    found: Listing[ChainRecord] = yield ListChains(listing_filter, _MOST)
    chains = list(found)
    while found.next_before is not None:
        found = yield ListChains(listing_filter, _MOST, found.next_before)
        chains += found
    return chains


def _list_chains(
    jobs: Jobs, shown: Filter, cursor: str | None, limit: int, *, sharded: bool
) -> Procedure[Page[Chain[Any]]]:
    found: Page[ChainRecord] = yield from page(shown, cursor, limit, sharded=sharded, may_lag=True)
    return Page([Chain(record, jobs) for record in found.items], found.next_cursor)


def _list_jobs(jobs: Jobs, shown: Filter, cursor: str | None, limit: int, *, sharded: bool) -> Procedure[Page[Job]]:
    _check_limit(limit)
    found: Listing[Record] = yield ListJobs(shown, limit, _before(cursor, sharded=sharded), may_lag=True)
    return Page([Job(record, jobs) for record in found], _cursor(found))


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= _MOST:
        raise ValueError(f"limit must lie between 1 and {_MOST}, not {limit}")


def _cursor(found: Listing[Any]) -> str | None:
    return None if found.next_before is None else str(found.next_before)


def _before(cursor: str | None, *, sharded: bool) -> int | None:
    if cursor is None:
        return None
    digits = _SHARDED_DIGITS if sharded else 19
    known = cursor.isascii() and cursor.isdecimal() and len(cursor) <= digits
    if not known or (not sharded and int(cursor) >= 2**63):
        raise ValueError(f"{cursor!r:.40} is no cursor: pass the next_cursor of an earlier page")
    return int(cursor)
