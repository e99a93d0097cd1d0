"""`migrate`: bring the schema of the store up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Exit, Mistake
from holdfast.cli.invocation import Invocation
from holdfast.stores.address import open_store


@command
def migrate(
    run: Invocation,
    sql: Annotated[bool, typer.Option("--sql", help="Print the script instead, for your own migration tool.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if the schema is not up to date.")
    ] = False,
) -> None:
    """Bring the store's schema up to date. Safe to repeat."""
    if sql and check:
        raise Mistake("--sql and --check cannot be combined")
    if sql:
        _print_script(run)
        return
    if check:
        _check(run)
        return
    with run.client(creates=True) as client:
        with checked():
            applied = client.store.migrate_sync()
        name = client.store.name
    shown = [tables.text(f"applied {each}") for each in applied] or [
        tables.text("nothing to do: the schema is up to date")
    ]
    run.answer({"store": name, "applied": applied}, *shown)


def _check(run: Invocation) -> None:
    with checked():
        store = open_store(run.address)
        pending = store.pending_migrations()
    shown = [tables.text(f"pending {each}") for each in pending] or [tables.text("the schema is up to date")]
    run.answer({"store": store.name, "pending": pending}, *shown)
    run.end(Exit.FAILED if pending else Exit.DONE)


def _print_script(run: Invocation) -> None:
    with checked():
        store = open_store(run.address)
    script = store.migration_script()
    if script is None:
        raise Mistake(f"{store.name} needs no script: it has no schema, or creates it when it is opened")
    if run.json:
        run.answer({"store": store.name, "sql": script})
    else:
        run.write(script.rstrip())
