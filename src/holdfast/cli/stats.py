"""`stats`: what happened to jobs per type, how many per minute, and how long they waited and ran."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.invocation import Invocation
from holdfast.cli.rates import counters_document, counts_table
from holdfast.cli.times import lasting
from holdfast.cli.times import since as since_moment


@command
def stats(
    run: Invocation,
    since: Annotated[str, typer.Option(metavar="TIME", help="From then on: 10m, 24h at most, or a time.")] = "1h",
    type: Annotated[list[str] | None, typer.Option(help="Only this type. May be repeated.")] = None,
    minutes: Annotated[bool, typer.Option("--minutes", help="With --json: also the numbers of each minute.")] = False,
) -> None:
    """Show how many jobs were started, completed, failed and so on, per type, and how long they waited and ran.

    Percentiles are estimates: durations are counted in buckets.
    """
    with run.client() as client, checked():
        counters = client.counters(since_moment(since), type)
    document = counters_document(counters, minutes=minutes)
    elapsed = lasting((counters.until - counters.since).total_seconds())
    shown = counts_table(document) if document["types"] else tables.text("nothing was counted", "dim")
    run.answer(document, tables.text(f"in the last {elapsed}", "dim"), shown)
