"""The chains that a command acts on: ids from the command line, ids from stdin, or the result of a filter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from holdfast.cli.command import check_text, checked
from holdfast.cli.documents import Document
from holdfast.cli.exit_codes import Exit, Mistake, exit_of
from holdfast.cli.invocation import Invocation
from holdfast.cli.times import since as since_moment
from holdfast.client.references import listing_filter
from holdfast.client.sync_client import SyncClient
from holdfast.core.job import Chain
from holdfast.engine.operations import ListChains
from holdfast.errors import ChainNotFound, HoldfastError, NotPermitted, StoreUnavailable

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID...", help="Ids of chains or jobs; - reads them from stdin.")
]
Statuses = Annotated[
    list[str] | None, typer.Option("--status", help="Take all chains with this status. May be repeated.")
]
Types = Annotated[list[str] | None, typer.Option("--type", help="Take all chains of this type. May be repeated.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="... created since then: 2h, 2026-01-31.")]


def typed_ids(ids: Sequence[str] | None) -> list[str]:
    """The ids of the command line and of stdin, each once."""
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
    """The ids that the arguments select. A filter without a status uses the statuses in `default`."""
    filtered = bool(status or type or since)
    if ids and filtered:
        raise Mistake("give ids or a filter, not both")
    if not ids and not filtered:
        raise Mistake("which ones? Give ids, - to read ids from stdin, or a filter such as --status failed")
    if ids:
        return typed_ids(ids)
    found: list[str] = []
    with checked():
        shown = listing_filter(status=status or list(default), type=type, since=since_moment(since))
    before: int | None = None
    # Not client.list_chains, which may read from a replica that lags: the command changes these chains.
    while page := client.store.perform_sync(ListChains(shown, 1000, before)):
        found += [chain.first.id for chain in page]
        before = page[-1].first.seq
    return found


def each(run: Invocation, ids: Sequence[str], act: Callable[[str], Document]) -> tuple[list[Document], Exit]:
    """Call `act` for each id in turn. A refused one does not stop the others; an outage of the store does.

    Returns a document per id, and the first exit code that is not 0.
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
    """A progress bar on stderr, if stderr is a terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=run.err, transient=True, disable=run.json or not run.err.is_terminal,
    )  # fmt: skip


def chain_of(client: SyncClient, id: str) -> Chain[Any]:
    """The chain with this id, or that of the job with it."""
    chain = client.get(id)
    if chain is None and (job := client.get_job(id)) is not None:
        chain = client.get(job.chain_id)
    if chain is None:
        raise ChainNotFound(id)
    return chain
