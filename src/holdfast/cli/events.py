"""`events`: the live events of a store, or the history of one chain or job."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import Document, error_text
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.job_reports import reports_of
from holdfast.cli.printable import write_json
from holdfast.cli.times import iso
from holdfast.client.client import Client
from holdfast.core.job import Report
from holdfast.engine.events import Event


@command
def events(
    run: Invocation,
    id: Annotated[str | None, typer.Argument(metavar="ID", help="A chain's or job's id: what happened to it.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show events as they happen, until Ctrl-C.")] = False,
    types: Annotated[list[str] | None, typer.Option(help="With --follow: only these job types.")] = None,
    kinds: Annotated[
        list[str] | None, typer.Option(help="With --follow: only these, such as completed,failed.")
    ] = None,
) -> None:
    """Show what happened to a chain or a job, or with --follow what happens on the store from now on.

    `holdfast audit ID` shows what operators changed.
    """
    if id is None and not follow:
        raise Mistake("which events? Give an id, or --follow to see what happens from now on")
    if id is not None:
        with run.client() as client:
            documents = [document for report in reports_of(client, id) for document in history(report)]
        run.answer(documents, *(_line(document) for document in documents))
    if follow:
        run.attend(partial(_follow, run, id=id, types=_names(types), kinds=_names(kinds)))


async def _follow(run: Invocation, client: Client, *, id: str | None, types: set[str], kinds: set[str]) -> None:
    """Show the events from now on that match. An empty set matches everything."""
    async for event in client.events():
        mine = id is None or id in (event.job_id, event.chain_id)
        if mine and (not types or event.type in types) and (not kinds or event.kind in kinds):
            document = event_document(event)
            if run.json:
                run.write(write_json(document))
            else:
                run.out.print(_line(document))


def event_document(event: Event) -> Document:
    """The fields of an event that are set."""
    shown: dict[str, Any] = {
        "at": iso(event.at), "kind": event.kind, "job_id": event.job_id, "chain_id": event.chain_id,
        "type": event.type, "attempt": event.attempt, "worker": event.worker,
    }  # fmt: skip
    return {key: value for key, value in shown.items() if value is not None}


def history(report: Report) -> list[Document]:
    """The events of a job in order, derived from its report, which is kept as long as the job."""
    job = report.job
    found: list[Document] = [{"at": iso(job.created_at), "kind": "created"}]
    for attempt in report.attempts:
        about = {"attempt": attempt.number, "worker": attempt.worker}
        if attempt.started_at is not None:
            found.append({"at": iso(attempt.started_at), "kind": "claimed", **about})
        if attempt.ended_at is not None:
            kind = "retrying" if attempt.outcome == "failed" and attempt.next_at is not None else attempt.outcome
            found.append({"at": iso(attempt.ended_at), "kind": kind, **about, "error": error_text(attempt.error)})
    if job.finished_at is not None and str(job.status) != found[-1]["kind"]:
        # Ended by an operator, or by an external completion.
        found.append({"at": iso(job.finished_at), "kind": str(job.status), "error": error_text(job.error)})
    common = {"job_id": job.id, "chain_id": job.chain_id, "type": job.type}
    return [{key: value for key, value in {**each, **common}.items() if value is not None} for each in found]


def _line(document: Document) -> Text:
    parts = [tables.text(document.get("at"), "dim"), Text(" "), tables.styled(f"{document['kind']:<11}")]
    parts += [
        tables.text(f" {key}={document[key]}", "red" if key == "error" else "")
        for key in ("type", "job_id", "attempt", "worker", "error")
        if key in document
    ]
    return Text.assemble(*parts)


def _names(values: list[str] | None) -> set[str]:
    return {name.strip() for each in values or () for name in each.split(",") if name.strip()}
