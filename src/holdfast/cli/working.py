"""`worker`: run jobs until told to stop."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from holdfast.cli.command import checked, command
from holdfast.cli.exits import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.logs import log_to_stderr
from holdfast.cli.times import duration, positive_duration
from holdfast.client import Client
from holdfast.worker import Worker

CONCURRENCY = 10


class Level(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@command
def worker(
    run: Invocation,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Jobs at a time; else [workers] concurrency of the file, else 10.")
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option(help="Only these job types: a,b or repeated. All that have a handler otherwise.")
    ] = None,
    lease: Annotated[
        str, typer.Option(metavar="DURATION", help="How long a claim holds without being renewed.")
    ] = "60s",
    poll_interval: Annotated[str, typer.Option(metavar="DURATION", help="Look for work at least this often.")] = "60s",
    grace: Annotated[
        str, typer.Option(metavar="DURATION", help="How long running jobs may take to end when stopped.")
    ] = "25s",
    worker_id: Annotated[str | None, typer.Option(metavar="NAME", help="Its name; made up otherwise.")] = None,
    log_level: Annotated[Level, typer.Option(help="How much is logged, to stderr.")] = Level.INFO,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log a JSON object a line.")] = False,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C: then finish what runs, within the grace period; a second signal ends that."""
    log_to_stderr(level=log_level, as_json=log_json or run.json)
    address = run.address
    if address.startswith("memory:"):
        raise Mistake("a memory:// store lives in one process: nobody else could give this worker jobs")
    jobs = run.jobs
    names = [name.strip() for each in types or () for name in each.split(",") if name.strip()]
    usual = run.settings.config.settings.groups[0]
    with checked():
        client = Client(address, jobs)
        made = Worker(
            client, concurrency=concurrency or run.settings.config.concurrency or CONCURRENCY, types=names or None,
            lease=positive_duration(lease, "--lease"), grace=duration(grace), worker_id=worker_id,
            poll_interval=positive_duration(poll_interval, "--poll-interval"),
            retry=usual.retry, timeout=usual.timeout, memory_limit=usual.memory_limit,
        )  # fmt: skip
    asyncio.run(_work(client, made))
    run.answer({"worker": made.id, "stopped": True})


async def _work(client: Client, made: Worker) -> None:
    with checked():
        await client.open()
    try:
        await client.get_job("none")  # whatever it answers, its tables are there
        await made.run()
    finally:
        await client.close()
