"""`unschedule`: remove schedules."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import checked, command
from holdfast.cli.invocation import Invocation


@command
def unschedule(
    run: Invocation,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The names of the schedules.")],
    reason: Reason = None,
) -> None:
    """Remove schedules. Their chains stay. A schedule that an application declares can only be paused."""
    with run.client() as client, checked():
        for name in dict.fromkeys(names):
            client.unschedule(name, reason=reason)
    run.answer({"unscheduled": names}, *(tables.text(f"unscheduled {name}") for name in dict.fromkeys(names)))
