"""`delete`: delete chains whole."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.selection import Ids, Since, Statuses, Types, chain_of, progress, select
from holdfast.client.sync_client import SyncClient
from holdfast.engine.operations import Delete

BATCH = 500

SHOWN = 20


@command
def delete(
    run: Invocation,
    ids: Ids = None,
    status: Statuses = None,
    type: Types = None,
    since: Since = None,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Also delete the chains that they wait for, recursively.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be deleted, and delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm. Without it nothing is deleted.")] = False,
) -> None:
    """Delete chains whole, running ones too. Refused where an unfinished job outside waits for one of them.

    Up to 500 go in one step, all or none; more go in several, newest first.
    """
    with run.client() as client:
        chosen = select(client, ids, status=status, type=type, since=since)
        if ids:
            chosen = [chain_of(client, id).id for id in chosen]
        if dry_run:
            found = _rehearse(client, chosen, cascade=cascade)
            run.answer({"would_delete": found, "deleted": []}, *_shown("would delete", found))
            return
        if not yes:
            raise Mistake(
                f"this would delete {tables.some(len(chosen), 'chain')} for good; add --yes, or --dry-run to see which"
            )
        deleted: list[str] = []
        with progress(run) as bar:
            task = bar.add_task("deleting", total=len(chosen))
            for begin in range(0, len(chosen), BATCH):
                deleted += client.delete(chosen[begin : begin + BATCH], cascade=cascade)
                bar.advance(task, BATCH)
    run.answer({"deleted": deleted}, *_shown("deleted", deleted))


def _rehearse(client: SyncClient, chosen: list[str], *, cascade: bool) -> list[str]:
    """The chains that a delete would remove: it runs in a transaction that is rolled back."""
    tx = client.store.begin_sync()
    try:
        return tx.perform(Delete(tuple(chosen), cascade))
    except TypeError as error:
        raise Mistake(f"--dry-run needs a store with transactions: {error}") from error
    finally:
        tx.rollback()


def _shown(verb: str, ids: list[str]) -> list[Text]:
    more = [tables.text(f"... and {len(ids) - SHOWN:,} more")] if len(ids) > SHOWN else []
    return [tables.text(f"{verb} {id}") for id in ids[:SHOWN]] + more or [tables.text("nothing found", "dim")]
