"""`retry`: run failed or cancelled jobs again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from holdfast.cli.bulk import DryRun, Limit, Reason, Yes, act_on, confirm, preview, report, stop_if_none
from holdfast.cli.command import command
from holdfast.cli.documents import Document, status_document
from holdfast.cli.filters import Filters
from holdfast.cli.invocation import Invocation
from holdfast.cli.selection import Chosen, Ids, select
from holdfast.core.record import Status
from holdfast.engine.audit_user import audit_of
from holdfast.engine.operations import RetryJobs


@command
def retry(
    run: Invocation,
    filters: Filters,
    ids: Ids = None,
    limit: Limit = None,
    from_step: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Run this step and the later ones again, and delete the messages that they received."
        ),
    ] = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Run failed or cancelled jobs again, with all of their attempts. A filter without --status means failed.

    Finished steps are kept, unless --from-step names the first one to run again.
    """
    with run.client() as client:
        selection = select(client, ids, filters, default=[Status.FAILED], limit=limit)
        stop_if_none(run, selection)
        if dry_run:
            preview(run, "retry", selection)
            return
        confirm(run, "retry", len(selection.chosen), yes=yes or not selection.filtered)

        def act(batch: Sequence[Chosen]) -> list[Document]:
            operation = RetryJobs(
                tuple(each.job_id for each in batch), audit=audit_of(None, reason), from_step=from_step
            )
            return [status_document(job.status) for job in client.store.perform_sync(operation)]

        outcomes = act_on(run, "retrying", selection, act)
    report(run, "retried", outcomes)
