"""The chains that a command acts on: ids from the command line, ids from stdin, or the result of a filter."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from holdfast.cli.command import check_text, checked
from holdfast.cli.documents import Document, error_text
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.filters import NO_FILTERS, Filters
from holdfast.client.references import listing_filter
from holdfast.client.sync_client import SyncClient
from holdfast.core.failure import read_error
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import GetChains, GetJobs, ListChains

_PAGE = 1000

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID...", help="Ids of chains or jobs; - reads them from stdin.")
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A chain to act on. `id` is the id that the user gave, `job_id` its current job or the job that the id names."""

    id: str
    chain_id: str
    job_id: str
    type: str
    status: str
    error: str | None

    @classmethod
    def of(cls, chain: ChainRecord, *, job: Record | None = None) -> Chosen:
        named = job or chain.last
        error = error_text(read_error(named.error))
        return cls(named.id if job else chain.first.id, chain.first.id, named.id, named.type, str(named.status), error)

    def document(self) -> Document:
        return {"id": self.id, "type": self.type, "status": self.status, "error": self.error}


@dataclass(frozen=True, slots=True)
class Selection:
    """The chains, and the ids for which there is none. `filtered`: found by a filter."""

    chosen: list[Chosen]
    missing: Sequence[str] = ()
    filtered: bool = False


def typed_ids(ids: Sequence[str] | None) -> list[str]:
    """The ids of the command line and of stdin, each once."""
    typed = [line.strip() for each in ids or () for line in (sys.stdin if each == "-" else [each])]
    check_text("ids", typed)
    return list(dict.fromkeys(each for each in typed if each))


def select(
    client: SyncClient,
    ids: Sequence[str] | None,
    filters: Filters = NO_FILTERS,
    *,
    default: Iterable[str] = (),
    limit: int | None = None,
) -> Selection:
    """The chains that the arguments select, at most `limit`. A filter without a status uses those in `default`."""
    if ids and filters.given:
        raise Mistake("give ids or a filter, not both")
    if not ids and not filters.given:
        raise Mistake("which ones? Give ids, - to read ids from stdin, or a filter such as --status failed")
    if ids:
        return _named(client, typed_ids(ids)[:limit])
    found = _filtered(client, replace(filters, status=filters.status or list(default)), limit)
    return Selection(found, filtered=True)


def _filtered(client: SyncClient, filters: Filters, limit: int | None) -> list[Chosen]:
    with checked():
        shown = listing_filter(**filters.keywords())
    found: list[Chosen] = []
    before: int | None = None
    while limit is None or len(found) < limit:
        # Not client.list_chains, which may read from a replica that lags: the command changes these chains.
        size = _PAGE if limit is None else min(_PAGE, limit - len(found))
        page = client.store.perform_sync(ListChains(shown, size, before))
        found += map(Chosen.of, page)
        before = page.next_before
        if before is None:
            break
    return found


def _named(client: SyncClient, ids: Sequence[str]) -> Selection:
    """A chain's id, which is that of its first job, stands for the chain and its current job."""
    chains = _chains(client, ids)
    jobs = _jobs(client, [id for id in ids if id not in chains])
    chains |= _chains(client, [job.chain_id for job in jobs.values() if job.chain_id not in chains])
    chosen: list[Chosen] = []
    missing: list[str] = []
    for id in ids:
        job = jobs.get(id)
        chain = chains.get(id if job is None else job.chain_id)
        if chain is None:
            missing.append(id)
        else:
            chosen.append(Chosen.of(chain, job=job))
    return Selection(chosen, missing)


def _chains(client: SyncClient, ids: Sequence[str]) -> dict[str, ChainRecord]:
    found: dict[str, ChainRecord] = {}
    for begin in range(0, len(ids), _PAGE):
        chains = client.store.perform_sync(GetChains(tuple(ids[begin : begin + _PAGE])))
        found |= {chain.first.id: chain for chain in chains if chain is not None}
    return found


def _jobs(client: SyncClient, ids: Sequence[str]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for begin in range(0, len(ids), _PAGE):
        jobs = client.store.perform_sync(GetJobs(tuple(ids[begin : begin + _PAGE])))
        found |= {job.id: job for job in jobs if job is not None}
    return found
