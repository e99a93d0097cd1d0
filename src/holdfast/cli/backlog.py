"""`backlog`: how many jobs are due, for operators and autoscalers."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import Document
from holdfast.cli.invocation import Invocation
from holdfast.cli.status import waiting_for_completion
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import lasting
from holdfast.cli.worker import jobs_to_run
from holdfast.client.unserved import external_types
from holdfast.supervisor.backlog import Reading
from holdfast.supervisor.metrics import backlog_document, type_document


@command
def backlog(
    run: Invocation,
    types: Annotated[list[str] | None, typer.Option(help="Only these job types: a,b or repeated.")] = None,
) -> None:
    """Show how many jobs are due, how long the oldest has waited, and how many run.

    With --app, only types count for which the app has a handler, as for its supervisor; other types are only listed.
    Without --app, all types count except those that live workers declare without a handler: no worker runs them.
    """
    wanted = {name.strip() for each in types or () for name in each.split(",") if name.strip()}
    handled = wanted or _handled(run)
    with run.client() as client:
        reading = Reading(client.stats().types)
        external = external_types(client.workers(), run.declared_only)
    document = backlog_document(reading, reading.types.keys() - external if handled is None else handled)
    others = sorted(reading.types.keys() - document["types"].keys()) if not wanted else []
    document["others"] = {name: type_document(reading, name) for name in others}
    shown = Sheet("type", "due", "oldest due", "scheduled", "running", "", numbers=("due", "scheduled", "running"))
    rows = {name: row for name, row in document["types"].items() if name in reading.types or name in wanted}
    for name, row in {**rows, **document["others"]}.items():
        uncounted = name in external and name in document["others"]
        due, oldest = ("", None) if uncounted else (f"{row['due']:,}", row["oldest_due_seconds"])
        shown.add_row(
            tables.text(name), due, "" if oldest is None else lasting(oldest), f"{row['scheduled']:,}",
            f"{row['running']:,}", _remark(run, name, row, document=document, external=name in external),
        )  # fmt: skip
    run.answer(document, f"{document['due']:,} due, {document['running']:,} running", shown)


def _handled(run: Invocation) -> set[str] | None:
    """The types that the application has handlers for; None without --app, so that no code is imported."""
    if run.flags.app is None:
        return None
    return {job_type.name for job_type in jobs_to_run(run) if job_type.function is not None}


def _remark(run: Invocation, name: str, row: Document, *, document: Document, external: bool) -> Text:
    if external:
        return tables.text(waiting_for_completion(row["due"]) if row["due"] else "", "dim")
    if name in document["others"]:
        return tables.text(f"no handler in {run.settings.app}", "dim")
    return tables.text("paused" if document["types"][name]["paused"] else "", "yellow")
