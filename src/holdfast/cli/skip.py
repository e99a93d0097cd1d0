"""`skip`: let a failed job hold its orders no longer."""

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
    """Let a failed job hold its orders no longer: the jobs behind it run."""
    with checked(), run.client() as client:
        client.skip(id, reason=reason)
    run.answer({"skipped": id}, tables.text(f"skipped {id}"))
