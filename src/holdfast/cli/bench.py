"""`bench`: measure the speed of the store, without changing its data."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from holdfast.benchmark import Benchmark, Latency, bench, private_place
from holdfast.cli.command import checked, command
from holdfast.cli.invocation import Invocation
from holdfast.cli.logs import log_to_stderr
from holdfast.cli.table_layout import Sheet


@command
def bench_(
    run: Invocation,
    jobs: Annotated[int, typer.Option("--jobs", "-n", min=10, help="How many jobs to start and to drain.")] = 2000,
) -> None:
    """Measure the store: starts, drains, pick-up and round trip, in a schema, namespace or file of its own.

    The data of the store is neither read nor changed, and the temporary data is removed at the end. Client and worker
    run in this process. Other load on the server and on this machine affects the figures.
    """
    log_to_stderr(level="critical", as_json=run.json)
    with checked(), private_place(run.address) as place:
        found = asyncio.run(bench(place, jobs=jobs, emit=run.note))
    run.answer(asdict(found), _screen(found))


def _screen(found: Benchmark) -> Sheet:
    shown = Sheet("measured", "median", "95%", numbers=("median", "95%"))
    for name, rate in (
        ("one start at a time", found.start),
        (f"start of {found.jobs:,} together", found.bulk_start),
        ("drain, concurrency 10", found.drain),
        ("drain, concurrency 200", found.wide_drain),
    ):
        shown.add_row(name, f"{rate:,.0f} /s", "")
    for name, latency in (("pick-up by an idle worker", found.pick_up), ("start and wait", found.round_trip)):
        shown.add_row(name, *_times(latency))
    return shown


def _times(latency: Latency) -> tuple[str, str]:
    return f"{latency.median * 1000:.2f} ms", f"{latency.p95 * 1000:.2f} ms"
