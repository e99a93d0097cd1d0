"""`simulate`: synthetic work on any store, checked against what its catalogue predicts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Exit
from holdfast.cli.invocation import Invocation
from holdfast.cli.logs import log_to_stderr
from holdfast.cli.progress import progress
from holdfast.cli.supervise import CHILD
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import lasting, optional_duration
from holdfast.client.client import Client
from holdfast.config import CATALOGUE
from holdfast.simulation import Progress, SimulationReport, WorkKind, simulate, simulated
from holdfast.simulation.report import Latency
from holdfast.stores.sharded.address import each_address
from holdfast.supervisor import Group, Logging, Supervisor
from holdfast.worker import Worker

HERE = "memory://"


@command
def simulate_(
    run: Invocation,
    jobs: Annotated[int, typer.Option("--jobs", "-n", min=1, help="How many jobs to start.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same load.")] = 0,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Give up after this long.", show_default=False)
    ] = None,
    workers: Annotated[
        bool, typer.Option("--workers/--no-workers", help="Start workers for it, or use workers that run already.")
    ] = True,
) -> None:
    """Run synthetic work and compare its outcomes with the prediction.

    The kinds of work come from [work_kinds] in the file, or from a built-in catalogue. Worker processes are started as
    [workers] in the file says; without --store the simulation runs in memory in this process.
    """
    # Simulated failures are expected, so they are not logged. The answer lists unexpected outcomes.
    log_to_stderr(level="critical", as_json=run.json)
    settings = run.settings.config.settings
    kinds = settings.work_kinds or CATALOGUE
    address = run.address if run.settings.store else HERE
    group = replace(settings.groups[0], types=None, queues=None)
    with checked():
        client = Client(address, simulated(kinds))
        load = partial(simulate, client, kinds, jobs=jobs, seed=seed, timeout=optional_duration(timeout))
        found = asyncio.run(_simulate(run, load, _workers(client, kinds, group=group if workers else None, at=address)))
    run.answer(document(found), *screen(found))
    left = any(status in kind.outcomes for kind in found.kinds for status in ("pending", "running"))
    run.end(Exit.DONE if found.passed else Exit.TIMED_OUT if left else Exit.FAILED)


async def _simulate(
    run: Invocation, load: Callable[..., Awaitable[SimulationReport]], workers: AbstractAsyncContextManager[None]
) -> SimulationReport:
    """Start the load and wait for its end, with a progress bar."""
    async with workers:
        with progress(run) as bar:
            started, ended = bar.add_task("started", total=None), bar.add_task("ended", total=None)

            def emit(now: Progress) -> None:
                bar.update(started, completed=now.started, total=now.jobs)
                bar.update(ended, completed=now.ended, total=now.jobs)

            return await load(emit=emit)


@asynccontextmanager
async def _workers(
    client: Client, kinds: tuple[WorkKind, ...], *, group: Group | None, at: str
) -> AsyncGenerator[None]:
    """Run the workers: processes if they can share the store, otherwise a worker here; none without a group."""
    async with client:
        if group is None:
            yield
        elif any(each.startswith("memory:") for each in each_address(at)):
            async with Worker(client, concurrency=group.concurrency * group.max_count, retry=group.retry):
                yield
        else:
            quiet = Logging(level="critical")
            supervisor = Supervisor(at, groups=[group], work_kinds=kinds, logging=quiet, entry=CHILD)
            # Ctrl-C must end the simulation, which then stops the workers.
            running = asyncio.create_task(supervisor.run(signals=False))
            try:
                yield
            finally:
                supervisor.stop()
                await running


def document(found: SimulationReport) -> dict[str, Any]:
    """The report as a JSON document."""
    return {**asdict(found), "wrong": found.wrong, "passed": found.passed}


def screen(found: SimulationReport) -> list[RenderableType]:
    """The report as text."""
    numbers = ("jobs", "attempts", "lost", "wrong", "median", "p95", "p99")
    shown = Sheet("kind", "predicted", "ended as", *numbers, numbers=numbers)
    for kind in found.kinds:
        ended = ", ".join(f"{count:,} {status}" for status, count in sorted(kind.outcomes.items()))
        shown.add_row(
            tables.text(kind.kind), tables.text(f"{kind.predicted} in {kind.predicted_attempts}"), tables.text(ended),
            f"{kind.jobs:,}", f"{kind.attempts:,}", f"{kind.lost_attempts:,}",
            tables.text(f"{kind.wrong:,}", "red" if kind.wrong else ""), *_times(kind.latency),
        )  # fmt: skip
    median, p95, p99 = _times(found.latency)
    return [
        f"{found.jobs:,} jobs in {lasting(found.seconds)}: {found.throughput:,.0f} a second, {found.retries:,} retries",
        f"from start to end: half within {median}, 95% within {p95}, 99% within {p99}",
        shown,
        tables.text("all ended as predicted" if found.passed else f"{found.wrong:,} jobs did not end as predicted"),
        tables.text(f"outcomes {found.digest} (seed {found.seed})", "dim"),
    ]


def _times(latency: Latency | None) -> tuple[str, str, str]:
    if latency is None:
        return "-", "-", "-"
    return lasting(latency.median), lasting(latency.p95), lasting(latency.p99)
