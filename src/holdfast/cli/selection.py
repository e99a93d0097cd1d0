"""Which chains a command is about: ids as typed, ids from stdin, or all that a filter finds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from holdfast.cli.command import check_text, checked
from holdfast.cli.documents import Document
from holdfast.cli.exit_codes import Exit, Mistake, exit_of
from holdfast.cli.invocation import Invocation
from holdfast.cli.times import since as since_moment
from holdfast.client.references import wanted
from holdfast.client.sync_client import SyncClient
from holdfast.engine.operations import ListChains
from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID...", help="Ids of chains or jobs; - reads them from stdin.")
]
Statuses = Annotated[
    list[str] | None, typer.Option("--status", help="Take all chains with this status. May be repeated.")
]
Types = Annotated[list[str] | None, typer.Option("--type", help="Take all chains of this type. May be repeated.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="... created since then: 2h, 2026-01-31.")]


def typed_ids(ids: Sequence[str] | None) -> list[str]:
    """The ids that were typed, those from stdin included, each once."""
    typed = [line.strip() for each in ids or () for line in (sys.stdin if each == "-" else [each])]
    check_text("ids", typed)
    return list(dict.fromkeys(each for each in typed if each))


def select(
    client: SyncClient,
    ids: Sequence[str] | None,
    *,
    status: Sequence[str] | None = None,
    type: Sequence[str] | None = None,
    since: str | None = None,
    default: Iterable[str] = (),
) -> list[str]:
    """The ids meant. A filter without a status means those in `default`."""
    filtered = bool(status or type or since)
    if ids and filtered:
        raise Mistake("give ids or a filter, not both")
    if not ids and not filtered:
        raise Mistake("which ones? Give ids, - to read ids from stdin, or a filter such as --status failed")
    if ids:
        return typed_ids(ids)
    found: list[str] = []
    with checked():
        shown = wanted(status=status or list(default), type=type, since=since_moment(since))
    before: int | None = None
    # Not the client's list, which a replica may answer: something will be done to these.
    while page := client.store.perform_sync(ListChains(shown, 1000, before)):
        found += [chain.first.id for chain in page]
        before = page[-1].first.seq
    return found


def each(run: Invocation, ids: Sequence[str], act: Callable[[str], Document]) -> tuple[list[Document], Exit]:
    """Do something to each, one after the other; one that is refused does not keep the others from it.

    Answers a document for each, and the first exit code that is not 0. A store that is gone ends it all.
    """
    documents: list[Document] = []
    code = Exit.DONE
    with progress(run) as bar:
        for identifier in bar.track(ids, description="working"):
            try:
                documents.append({"id": identifier, "done": True, **act(identifier)})
            except (StoreUnavailable, NotPermitted):
                raise
            except HoldfastError as error:
                code = code or exit_of(error)
                documents.append({"id": identifier, "done": False, "error": str(error)})
    return documents, code


def progress(run: Invocation) -> Progress:
    """A bar on stderr while something long goes on; nothing where nobody looks."""
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=run.err, transient=True, disable=run.json or not run.err.is_terminal,
    )  # fmt: skip
