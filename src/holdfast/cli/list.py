"""`list`: one page of chains or jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.documents import Document, chain_document, job_document
from holdfast.cli.invocation import Invocation
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import since as since_moment


@command
def list_(
    run: Invocation,
    status: Annotated[
        list[str] | None,
        typer.Option(help="blocked, pending, scheduled, running, completed, failed or cancelled. May be repeated."),
    ] = None,
    type: Annotated[list[str] | None, typer.Option(help="Only of this job type. May be repeated.")] = None,
    key: Annotated[str | None, typer.Option(help="Only with this key.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Created since then: 2h, 7d, 2026-01-31.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on after an earlier page: its next_cursor.")] = None,
    jobs: Annotated[bool, typer.Option("--jobs", help="List the single jobs rather than chains.")] = False,
) -> None:
    """List chains, newest first."""
    created = since_moment(since)
    with run.client() as client:
        if jobs:
            with checked():
                page = client.list_jobs(status=status, type=type, key=key, since=created, limit=limit, cursor=cursor)
            documents = [job_document(job) for job in page.items]
            _answer(run, documents, next_cursor=page.next_cursor, table=tables.jobs(page.items))
        else:
            with checked():
                found = client.list_chains(status=status, type=type, key=key, since=created, limit=limit, cursor=cursor)
            documents = [chain_document(chain) for chain in found.items]
            _answer(run, documents, next_cursor=found.next_cursor, table=tables.chains(found.items))


def _answer(run: Invocation, documents: list[Document], *, next_cursor: str | None, table: Sheet) -> None:
    shown = table if documents else tables.text("nothing found", "dim")
    run.answer({"items": documents, "next_cursor": next_cursor}, shown)
    if next_cursor is not None and not run.json:
        run.note(f"more: --cursor {next_cursor}")
