"""`run-now`: make scheduled jobs due at once."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.cli.bulk import Reason, act_on, report
from holdfast.cli.command import command
from holdfast.cli.documents import Document, status_document
from holdfast.cli.invocation import Invocation
from holdfast.cli.selection import Chosen, Ids, select
from holdfast.engine.audit_user import audit_of
from holdfast.engine.operations import RunNow


@command
def run_now(run: Invocation, ids: Ids = None, reason: Reason = None) -> None:
    """Make scheduled jobs due at once."""
    with run.client() as client:

        def act(batch: Sequence[Chosen]) -> list[Document]:
            operation = RunNow(tuple(each.job_id for each in batch), audit=audit_of(None, reason))
            return [status_document(job.status) for job in client.store.perform_sync(operation)]

        outcomes = act_on(run, "making due", select(client, ids), act)
    report(run, "due now:", outcomes)
