"""`cancel`: cancel chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from holdfast.cli.bulk import DryRun, Limit, Yes, act_on, confirm, preview, report, stop_if_none
from holdfast.cli.command import command
from holdfast.cli.documents import Document, status_document
from holdfast.cli.filters import Filters
from holdfast.cli.invocation import Invocation
from holdfast.cli.selection import Chosen, Ids, select
from holdfast.core.failure import write as write_error
from holdfast.core.record import UNFINISHED, Status
from holdfast.engine.audit_user import audit_of
from holdfast.engine.operations import CancelChains
from holdfast.errors import AlreadyCompleted

_NO_REASON = "cancelled from the command line"


@command
def cancel(
    run: Invocation,
    filters: Filters,
    ids: Ids = None,
    limit: Limit = None,
    reason: Annotated[str | None, typer.Option(help="Shown with the chain and in the audit.")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Cancel chains. Jobs that have not started never run. Running handlers are stopped and can write nothing more."""
    with run.client() as client:
        selection = select(client, ids, filters, default=sorted(UNFINISHED), limit=limit)
        stop_if_none(run, selection)
        if dry_run:
            preview(run, "cancel", selection)
            return
        confirm(run, "cancel", len(selection.chosen), yes=yes or not selection.filtered)

        def act(batch: Sequence[Chosen]) -> list[Document]:
            error = write_error("Cancelled", reason or _NO_REASON)
            operation = CancelChains(tuple(each.chain_id for each in batch), error, audit=audit_of(None, reason))
            return [
                status_document(chain.last.status)
                if chain.last.status is Status.CANCELLED
                else {"error": str(AlreadyCompleted(chain.first.id))}
                for chain in client.store.perform_sync(operation)
            ]

        outcomes = act_on(run, "cancelling", selection, act)
    report(run, "cancelled", outcomes)
