"""`pause-schedule`: skip the ticks of a schedule."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.invocation import Invocation
from holdfast.cli.schedule_facts import Name, schedule_document


@command
def pause_schedule(
    run: Invocation,
    name: Name,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Shown by `schedules`.")] = None,
) -> None:
    """Skip the ticks of a schedule until it is resumed."""
    with run.client() as client, checked():
        paused = client.pause_schedule(name, reason=reason)
    run.answer(schedule_document(paused), tables.text(f"paused schedule {name}"))
