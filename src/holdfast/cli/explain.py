"""`explain`: why a job is in its state."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import RenderableType

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import Document, job_document
from holdfast.cli.facts import Id
from holdfast.cli.invocation import Invocation
from holdfast.cli.times import iso, relative
from holdfast.core.explanation import Explanation
from holdfast.errors import JobNotFound


@command
def explain(run: Invocation, id: Id) -> None:
    """Say why a job is in its state, and what would change that. The id of a chain means its current job."""
    # With --app, types that the app declares without a handler are known even if no worker is live.
    with run.client(run.jobs if run.flags.app is not None else None) as client:
        found = client.explain(id)
    if found is None:
        raise JobNotFound(id)
    job, now = found.job, datetime.now(UTC)
    facts = tables.facts(
        [
            ("job", job.id),
            ("type", job.type),
            ("status", tables.status(job, now)),
            ("claimable", "yes" if found.claimable else "no"),
        ]
    )
    run.answer({"job": job_document(job), **explanation_document(found)}, facts, "", *explanation_lines(found))


def explanation_document(found: Explanation) -> Document:
    return {
        "claimable": found.claimable,
        "text": found.text,
        "messages": list(found.messages),
        "reasons": [{"kind": each.kind, "text": each.text, "until": iso(each.until)} for each in found.reasons],
    }


def explanation_lines(found: Explanation) -> list[RenderableType]:
    """One line per reason."""
    now = datetime.now(UTC)
    return [
        tables.text(f"{each.kind}: {each.text}" + (f" That is {relative(each.until, now)}." if each.until else ""))
        for each in found.reasons
    ]
