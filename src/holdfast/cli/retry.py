"""`retry`, `cancel`, `run-now`, `pause` and `resume`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import Document
from holdfast.cli.exit_codes import Exit, Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import printable
from holdfast.cli.selection import Ids, Since, Statuses, Types, each, select, typed_ids
from holdfast.cli.worker import jobs_to_run
from holdfast.client.sync_client import SyncClient
from holdfast.core.job import Chain
from holdfast.core.record import UNFINISHED, Status
from holdfast.engine.operations import TypeStats
from holdfast.errors import AlreadyCompleted, ChainNotFound

Names = Annotated[list[str], typer.Argument(metavar="TYPE...", help="Names of job types.")]


@command
def retry(run: Invocation, ids: Ids = None, status: Statuses = None, type: Types = None, since: Since = None) -> None:
    """Run failed or cancelled jobs again, with their attempts granted anew. A filter without --status means failed."""
    with run.client() as client:
        chosen = select(client, ids, status=status, type=type, since=since, default=[Status.FAILED])
        documents, code = each(run, chosen, lambda id: _state(client.retry(id).status))
    _answer(run, "retried", documents=documents, code=code)


@command
def cancel(
    run: Invocation,
    ids: Ids = None,
    status: Statuses = None,
    type: Types = None,
    since: Since = None,
    reason: Annotated[str, typer.Option(help="Shown with the chain.")] = "cancelled from the command line",
    yes: Annotated[bool, typer.Option("--yes", help="Needed with a filter: cancelling cannot be undone.")] = False,
) -> None:
    """Cancel chains: what has not started never will; what runs is told, and can write nothing more."""
    with run.client() as client:
        chosen = select(client, ids, status=status, type=type, since=since, default=sorted(UNFINISHED))
        if not ids and not yes:
            raise Mistake(f"this would cancel {tables.some(len(chosen), 'chain')}; add --yes to do it")

        def act(id: str) -> Document:
            before = chain_of(client, id)
            chain = client.cancel(before, reason=reason)
            if chain.status is not Status.CANCELLED:
                raise AlreadyCompleted(chain.id)
            return _state(chain.status)

        documents, code = each(run, chosen, act)
    _answer(run, "cancelled", documents=documents, code=code)


@command
def run_now(run: Invocation, ids: Ids = None) -> None:
    """Make scheduled jobs due at once."""
    with run.client() as client:
        documents, code = each(run, select(client, ids), lambda id: _state(client.run_now(id).status))
    _answer(run, "due now:", documents=documents, code=code)


@command
def pause(run: Invocation, types: Names) -> None:
    """Hand out no jobs of these types until they are resumed. Running ones go on."""
    names = typed_ids(types)
    with run.client() as client:
        _check_known(run, names, stored=client.stats().types)
        client.pause(names)
    run.answer({"paused": names}, *(tables.text(f"paused {name}") for name in names))


@command
def resume(run: Invocation, types: Names) -> None:
    """Hand out jobs of these types again."""
    names = typed_ids(types)
    with run.client() as client:
        stored = client.stats().types
        for name in names:
            if name not in stored or not stored[name].paused:
                run.warn(f"{printable(name)} was not paused")
        client.resume(names)
    run.answer({"resumed": names}, *(tables.text(f"resumed {name}") for name in names))


def _check_known(run: Invocation, names: Sequence[str], *, stored: Mapping[str, TypeStats]) -> None:
    """Refuse a name that neither the app of --app nor the store has: it may be misspelt.

    Without --app no code is imported, and the type may be one that is started later: then there is a warning.
    """
    try:
        declared = None if run.flags.app is None else {job_type.name for job_type in jobs_to_run(run)}
    except Mistake as mistake:
        run.warn(str(mistake))
        declared = None
    for name in names:
        if name in stored or (declared is not None and name in declared):
            continue
        if declared is None:
            run.warn(f"the store has no job of a type {printable(repr(name))}; it is paused all the same")
            continue
        near = get_close_matches(name, {*stored, *declared}, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise Mistake(f"{run.settings.app} has no job type {name!r}, and the store has no job of it{hint}")


def chain_of(client: SyncClient, id: str) -> Chain[Any]:
    """The chain with this id, or that of the job with it."""
    chain = client.get(id)
    if chain is None and (job := client.get_job(id)) is not None:
        chain = client.get(job.chain_id)
    if chain is None:
        raise ChainNotFound(id)
    return chain


def _state(status: Status) -> Document:
    return {"status": str(status)}


def _answer(run: Invocation, verb: str, *, documents: Sequence[Document], code: Exit) -> None:
    done = [document for document in documents if document["done"]]
    shown = [tables.text(f"{verb} {document['id']}") for document in done[:20]]
    if len(done) > 20:
        shown.append(tables.text(f"... and {len(done) - 20:,} more"))
    if not documents:
        shown.append(tables.text("nothing found", "dim"))
    run.answer({"items": documents, "done": len(done), "refused": len(documents) - len(done)}, *shown)
    for document in documents:
        if not document["done"]:
            run.err.print(Text.assemble(("refused ", "red"), tables.text(document["error"])), soft_wrap=True)
    run.end(code)
