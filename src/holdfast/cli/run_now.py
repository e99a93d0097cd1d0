"""`run-now`: make scheduled jobs due at once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from holdfast.cli.bulk import Reason, act_on, report
from holdfast.cli.command import command
from holdfast.cli.documents import Document, status_document
from holdfast.cli.facts import awaited
from holdfast.cli.invocation import Invocation
from holdfast.cli.selection import Chosen, Ids, select
from holdfast.client.sync_client import SyncClient
from holdfast.core.clock import to_micros
from holdfast.core.record import Record
from holdfast.engine.audit_user import audit_of
from holdfast.engine.operations import RunNow


@command
def run_now(run: Invocation, ids: Ids = None, reason: Reason = None) -> None:
    """Make scheduled jobs due at once."""
    with run.client() as client:

        def act(batch: Sequence[Chosen]) -> list[Document]:
            operation = RunNow(tuple(each.job_id for each in batch), audit=audit_of(None, reason))
            return [_document(client, job) for job in client.store.perform_sync(operation)]

        outcomes = act_on(run, "making due", select(client, ids), act)
    report(run, "made due", outcomes)


def _document(client: SyncClient, job: Record) -> Document:
    """What became of the job. Only a message or its timeout ends the wait for a message."""
    if job.scheduled_at > to_micros(datetime.now(UTC)):
        explanation = client.explain(job.id)
        if explanation is not None and explanation.job.id == job.id and explanation.messages:
            waits = f"job {job.id} still waits for {awaited(explanation.messages)}"
            command = shlex.join(["holdfast", "send", job.chain_id, explanation.messages[0], "JSON"])
            error = f"{waits}: send it with `{command}`"
            return {**status_document(job.status), "error": error}
    return status_document(job.status)
