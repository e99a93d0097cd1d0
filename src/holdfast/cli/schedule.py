"""`schedule`: create or change a schedule."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.schedule_facts import Name, schedule_document, schedule_facts
from holdfast.cli.start import read_input
from holdfast.cli.times import duration, optional_duration
from holdfast.core.schedule import WITHIN, Missed, Overlap


@command
def schedule(
    run: Invocation,
    name: Name,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="The job type's name.")],
    input: Annotated[
        str, typer.Option("--input", metavar="JSON", help="Arguments by name; @FILE reads a file, - reads stdin.")
    ] = "{}",
    cron: Annotated[str | None, typer.Option(metavar="EXPRESSION", help="Five fields, or a name: @daily.")] = None,
    every: Annotated[str | None, typer.Option(metavar="DURATION", help="The time between two ticks.")] = None,
    tz: Annotated[str | None, typer.Option(metavar="ZONE", help="The time zone of --cron. Default: UTC.")] = None,
    overlap: Annotated[
        str, typer.Option(help="If the last chain has not ended: skip, queue, allow or cancel.")
    ] = "skip",
    missed: Annotated[str, typer.Option(help="After a downtime: latest, all or none of the missed ticks.")] = "latest",
    within: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Missed ticks older than this start no chain. Default: 1d.")
    ] = None,
    jitter: Annotated[str | None, typer.Option(metavar="DURATION", help="Delay each chain by up to this time.")] = None,
    priority: Annotated[int | None, typer.Option(help="Jobs with a higher number run first.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="How many attempts each job gets.")] = None,
    attempt_timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long one attempt may take.")
    ] = None,
) -> None:
    """Start a chain repeatedly. A schedule with this name is changed."""
    jobs = run.jobs
    with checked():
        bound = jobs[type].parse(read_input(input))
        bound = bound.options(priority=priority, max_attempts=max_attempts, timeout=optional_duration(attempt_timeout))
    if (cron is None) == (every is None):
        raise Mistake("give either --cron or --every")
    with run.client(jobs, creates=True) as client, checked():
        made = client.schedule(
            name, bound, cron=cron, every=optional_duration(every), tz=tz, overlap=cast("Overlap", overlap),
            missed=cast("Missed", missed), within=WITHIN if within is None else duration(within),
            jitter=0 if jitter is None else duration(jitter),
        )  # fmt: skip
    run.answer(schedule_document(made), schedule_facts(made))
