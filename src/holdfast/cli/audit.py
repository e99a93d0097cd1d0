"""`audit`: what operators changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.documents import Document
from holdfast.cli.invocation import Invocation
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import iso, relative
from holdfast.cli.times import since as since_moment
from holdfast.core.job import AuditEntry


@command
def audit(
    run: Invocation,
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only changes of this chain, job or job type.")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Changes since then: 2h, 7d, 2026-01-31.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many entries to list.")] = 50,
) -> None:
    """List what operators changed in the last 90 days, newest first."""
    moment = since_moment(since)
    with run.client() as client, checked():
        entries = client.audit(id, moment, limit)
    shown = _table(entries) if entries else tables.text("nothing found", "dim")
    run.answer({"items": [_document(entry) for entry in entries]}, shown)


def _document(entry: AuditEntry) -> Document:
    return {
        "at": iso(entry.at),
        "user": entry.user,
        "action": entry.action,
        "target": entry.target,
        "reason": entry.reason,
    }


def _table(entries: list[AuditEntry]) -> Sheet:
    now = datetime.now(UTC)
    table = Sheet("at", "user", "action", "target", "reason")
    for entry in entries:
        table.add_row(
            tables.text(relative(entry.at, now)), tables.text(entry.user), tables.text(entry.action),
            tables.text(entry.target), tables.text(entry.reason),
        )  # fmt: skip
    return table
