"""`delete`: delete chains whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from holdfast.cli.bulk import DryRun, Limit, Outcomes, Reason, Yes, act_on, confirm, preview, report, stop_if_none
from holdfast.cli.command import command
from holdfast.cli.documents import Document
from holdfast.cli.filters import Filters
from holdfast.cli.invocation import Invocation
from holdfast.cli.selection import Chosen, Ids, Selection, select
from holdfast.client.sync_client import SyncClient
from holdfast.engine.audit_user import audit_of
from holdfast.engine.operations import Delete, Filter, GetBlockers, GetChains, ListJobs

_Remove = Callable[[Sequence[str]], list[str]]


@command
def delete(
    run: Invocation,
    filters: Filters,
    ids: Ids = None,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Also delete the chains that they wait for, recursively.")
    ] = False,
    limit: Limit = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete whole chains, also running ones. Refused if an unfinished job of another chain waits for one of them.

    Up to 100 chains are deleted atomically, more in several operations, newest first.
    """
    with run.client() as client:
        selection = select(client, ids, filters, limit=limit)
        stop_if_none(run, selection)
        if dry_run:
            _rehearse(run, client, selection, cascade=cascade)
            return
        confirm(run, "delete", len(selection.chosen), yes=yes or not selection.chosen, final=True)
        deleted: dict[str, None] = {}

        def remove(chain_ids: Sequence[str]) -> list[str]:
            operation = Delete(tuple(chain_ids), cascade, audit=audit_of(None, reason))
            return client.store.perform_sync(operation)

        outcomes = _remove_all(run, "deleting", selection, remove, deleted)
    report(run, "deleted", outcomes, deleted=list(deleted))


def _remove_all(
    run: Invocation, action: str, selection: Selection, remove: _Remove, deleted: dict[str, None]
) -> Outcomes:
    """Delete the chains. A refused chain is tried again after others were deleted: these may have waited for it."""

    def act(batch: Sequence[Chosen]) -> list[Document]:
        chain_ids = list(dict.fromkeys(each.chain_id for each in batch))
        deleted.update(dict.fromkeys(remove([each for each in chain_ids if each not in deleted])))
        return [{} for _ in batch]

    outcomes = act_on(run, action, selection, act)
    before = -1
    while before < len(outcomes.done) and outcomes.skipped:
        before = len(outcomes.done)
        refused = [each for each in selection.chosen if not outcomes.items[each.id]["done"]]
        outcomes.again(act_on(run, action, replace(selection, chosen=refused), act))
    return outcomes


def _rehearse(run: Invocation, client: SyncClient, selection: Selection, *, cascade: bool) -> None:
    """Show what a delete would remove. On a store with transactions it runs in transactions that are rolled back."""
    deleted: dict[str, None] = {}

    def remove(chain_ids: Sequence[str]) -> list[str]:
        tx = client.store.begin_sync()
        try:
            return tx.perform(Delete(tuple(chain_ids), cascade))
        except TypeError:  # a store without transactions
            return _with_blockers(client, chain_ids) if cascade else list(chain_ids)
        finally:
            tx.rollback()

    outcomes = _remove_all(run, "checking", selection, remove, deleted)
    chains = client.store.perform_sync(GetChains(tuple(deleted)))
    items = [Chosen.of(chain).document() for chain in chains if chain is not None]
    for item in outcomes.skipped:
        run.err.print(f"would not delete: {item['error']}", soft_wrap=True)
    preview(run, "delete", replace(selection, missing=[]), items)
    run.end(outcomes.code)


def _with_blockers(client: SyncClient, chain_ids: Sequence[str]) -> list[str]:
    """These chains, their blockers, and the blockers of those."""
    found = list(chain_ids)
    for chain_id in found:  # the list grows during the loop
        for job in client.store.perform_sync(ListJobs(Filter(chain_id=chain_id), 1000)):
            if job.blockers:
                [blockers] = client.store.perform_sync(GetBlockers((job.id,)))
                found += [chain.first.id for chain in blockers if chain.first.id not in found]
    return found
