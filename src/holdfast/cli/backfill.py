"""`backfill`: start the chains of past ticks."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import checked, command
from holdfast.cli.documents import chain_document
from holdfast.cli.invocation import Invocation
from holdfast.cli.schedule_facts import Name
from holdfast.cli.times import zoned


@command
def backfill(
    run: Invocation,
    name: Name,
    since: Annotated[str, typer.Option(metavar="TIME", help="The first tick, with its zone: 2026-01-31T00:00:00Z.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="The end. A tick at this time is not included.")],
    reason: Reason = None,
) -> None:
    """Start the chains of past ticks that do not exist yet."""
    begin, end = zoned(since, "--since"), zoned(until, "--until")
    assert begin is not None, "--since is required"
    assert end is not None, "--until is required"
    with run.client() as client, checked():
        chains = client.backfill(name, since=begin, until=end, reason=reason)
    lines = [tables.text(f"started {chain.id}") for chain in chains]
    run.answer(
        {"chains": [chain_document(chain) for chain in chains]}, *(lines or [tables.text("nothing to start", "dim")])
    )
