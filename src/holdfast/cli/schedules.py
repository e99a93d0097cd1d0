"""`schedules`: the schedules of the store and their next ticks."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.cli.schedule_facts import schedule_document, schedule_facts
from holdfast.errors import ScheduleNotFound


@command
def schedules(
    run: Invocation,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="Only these schedules.")] = None,
) -> None:
    """Show schedules with their next five ticks, in the schedule's time zone and in UTC."""
    with run.client() as client:
        found = {schedule.name: schedule for schedule in client.schedules()}
    for name in names or ():
        if name not in found:
            raise ScheduleNotFound(name)
    shown = [found[name] for name in dict.fromkeys(names or found)]
    rows = [row for schedule in shown for row in (schedule_facts(schedule), Text())]
    documents = [schedule_document(schedule) for schedule in shown]
    run.answer({"schedules": documents}, *(rows[:-1] or [tables.text("no schedules", "dim")]))
