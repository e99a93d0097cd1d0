"""`retry`: run failed or cancelled jobs again."""

from __future__ import annotations

from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.cli.outcomes import report_outcomes, status_document
from holdfast.cli.selection import Ids, Since, Statuses, Types, each, select
from holdfast.core.record import Status


@command
def retry(run: Invocation, ids: Ids = None, status: Statuses = None, type: Types = None, since: Since = None) -> None:
    """Run failed or cancelled jobs again, with their attempts granted anew. A filter without --status means failed."""
    with run.client() as client:
        chosen = select(client, ids, status=status, type=type, since=since, default=[Status.FAILED])
        documents, code = each(run, chosen, lambda id: status_document(client.retry(id).status))
    report_outcomes(run, "retried", documents=documents, code=code)
