"""`list`: one page of chains or jobs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.documents import Document, chain_document, job_document
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.filters import Filters
from holdfast.cli.invocation import Invocation
from holdfast.cli.table_layout import Sheet
from holdfast.core.job import Page

T = TypeVar("T")


@command
def list_(
    run: Invocation,
    filters: Filters,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue after an earlier page: its next_cursor.")] = None,
    jobs: Annotated[bool, typer.Option("--jobs", help="List the single jobs rather than chains.")] = False,
) -> None:
    """List chains, newest first."""
    wanted = filters.keywords()
    with run.client() as client, checked():
        if jobs:
            if filters.chain_type is not None:
                raise Mistake("--chain-type selects chains; use --type with --jobs")
            of_jobs = {name: value for name, value in wanted.items() if name != "chain_type"}
            listed = _full_page(partial(client.list_jobs, **of_jobs), cursor, limit)  # type: ignore[arg-type]
            documents = [job_document(job) for job in listed.items]
            _answer(run, documents, next_cursor=listed.next_cursor, table=tables.jobs(listed.items))
        else:
            found = _full_page(partial(client.list_chains, **wanted), cursor, limit)
            documents = [chain_document(chain) for chain in found.items]
            _answer(run, documents, next_cursor=found.next_cursor, table=tables.chains(found.items))


def _full_page(read: Callable[..., Page[T]], cursor: str | None, limit: int) -> Page[T]:
    """A page with `limit` items, or the rest of the list: several pages if they are short."""
    items: list[T] = []
    while True:
        page = read(cursor=cursor, limit=limit - len(items))
        items += page.items
        cursor = page.next_cursor
        if cursor is None or len(items) == limit:
            return Page(items, cursor)


def _answer(run: Invocation, documents: list[Document], *, next_cursor: str | None, table: Sheet) -> None:
    shown = table if documents else tables.text("nothing found", "dim")
    run.answer({"items": documents, "next_cursor": next_cursor}, shown)
    if next_cursor is not None and not run.json:
        run.note(f"more: --cursor {next_cursor}")
