"""`run-now`: make scheduled jobs due at once."""

from __future__ import annotations

from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.cli.outcomes import report_outcomes, status_document
from holdfast.cli.selection import Ids, each, select


@command
def run_now(run: Invocation, ids: Ids = None) -> None:
    """Make scheduled jobs due at once."""
    with run.client() as client:
        documents, code = each(run, select(client, ids), lambda id: status_document(client.run_now(id).status))
    report_outcomes(run, "due now:", documents=documents, code=code)
