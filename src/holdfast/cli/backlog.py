"""`backlog`: what is due, for people and for autoscalers."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.cli.sheet import Sheet
from holdfast.cli.times import lasting
from holdfast.supervisor.backlog import Reading
from holdfast.supervisor.metrics import backlog_document


@command
def backlog(
    run: Invocation,
    types: Annotated[list[str] | None, typer.Option(help="Only these job types: a,b or repeated.")] = None,
) -> None:
    """Show how many jobs could run now, for how long the first has waited, and how many run."""
    wanted = {name.strip() for each in types or () for name in each.split(",") if name.strip()}
    with run.client() as client:
        reading = Reading(client.stats().types)
    document = backlog_document(reading, wanted or reading.types)
    shown = Sheet("type", "due", "oldest due", "scheduled", "running", "", numbers=("due", "scheduled", "running"))
    for name, row in document["types"].items():
        oldest = row["oldest_due_seconds"]
        shown.add_row(
            tables.text(name), f"{row['due']:,}", "" if oldest is None else lasting(oldest), f"{row['scheduled']:,}",
            f"{row['running']:,}", tables.text("paused" if row["paused"] else "", "yellow"),
        )  # fmt: skip
    run.answer(document, f"{document['due']:,} due, {document['running']:,} running", shown)
