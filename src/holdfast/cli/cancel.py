"""`cancel`: cancel chains."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import Document
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.outcomes import report_outcomes, status_document
from holdfast.cli.selection import Ids, Since, Statuses, Types, chain_of, each, select
from holdfast.core.record import UNFINISHED, Status
from holdfast.errors import AlreadyCompleted


@command
def cancel(
    run: Invocation,
    ids: Ids = None,
    status: Statuses = None,
    type: Types = None,
    since: Since = None,
    reason: Annotated[str, typer.Option(help="Shown with the chain.")] = "cancelled from the command line",
    yes: Annotated[bool, typer.Option("--yes", help="Needed with a filter: cancelling cannot be undone.")] = False,
) -> None:
    """Cancel chains. Jobs that have not started never run. Running handlers are stopped and can write nothing more."""
    with run.client() as client:
        chosen = select(client, ids, status=status, type=type, since=since, default=sorted(UNFINISHED))
        if not ids and not yes:
            raise Mistake(f"this would cancel {tables.some(len(chosen), 'chain')}; add --yes to do it")

        def act(id: str) -> Document:
            before = chain_of(client, id)
            chain = client.cancel(before, reason=reason)
            if chain.status is not Status.CANCELLED:
                raise AlreadyCompleted(chain.id)
            return status_document(chain.status)

        documents, code = each(run, chosen, act)
    report_outcomes(run, "cancelled", documents=documents, code=code)
