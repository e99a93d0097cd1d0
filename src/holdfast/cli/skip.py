"""`skip`: skip a failed job in its orders."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import checked, command
from holdfast.cli.invocation import Invocation


@command
def skip(
    run: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a failed job.")],
    reason: Reason = None,
) -> None:
    """Skip a failed job in its orders: the jobs behind it run."""
    with checked(), run.client() as client:
        client.skip(id, reason=reason)
    run.answer({"skipped": id}, tables.text(f"skipped {id}"))
