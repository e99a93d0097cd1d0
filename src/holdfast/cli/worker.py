"""`worker`: run jobs until told to stop."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.load_app import load_jobs
from holdfast.cli.logs import log_to_stderr
from holdfast.cli.times import optional_duration, positive_duration
from holdfast.client.client import Client
from holdfast.config import Settings
from holdfast.core.defaults import CONCURRENCY, GRACE, POLL_INTERVAL, SUPERVISED_LEASE
from holdfast.engine.observers import log
from holdfast.registry.jobs import Jobs
from holdfast.supervisor import Group
from holdfast.supervisor.child_protocol import find_jobs, share_out
from holdfast.worker import Worker, event_loop


class Level(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@command
def worker(
    run: Invocation,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="Work as [workers.NAME] of the file says, not as [workers] does.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help=f"Jobs at a time; else as the file says, else {CONCURRENCY}.")
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(help="Only these job types: a,b or repeated; else the group's, else all that have a handler."),
    ] = None,
    lease: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help=f"How long a claim holds without being renewed; else as the file says, else {SUPERVISED_LEASE:g}s.",
        ),
    ] = None,
    renew_interval: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="How often a lease is renewed; else as the file says, else a third of the lease."
        ),
    ] = None,
    poll_interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Look for work at least this often, while wake-ups arrive too.")
    ] = f"{POLL_INTERVAL:g}s",
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help=f"How long running jobs may take to end when stopped; else as the file says, else {GRACE:g}s.",
        ),
    ] = None,
    worker_id: Annotated[str | None, typer.Option(metavar="NAME", help="Its name; made up otherwise.")] = None,
    log_level: Annotated[
        Level | None, typer.Option(help="How much is logged, to stderr; else [logging] level, else info.")
    ] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log a JSON object a line.")] = False,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C: then finish what runs, within the grace period; a second signal ends that.

    Like one process of the supervisor, on the terms that [workers] of the file has, unless an option says otherwise.
    """
    settings = run.settings.config.settings
    log_to_stderr(
        level=log_level or settings.logging.level, as_json=log_json or run.json or settings.logging.json
    )  # fmt: skip
    address = run.address
    if address.startswith("memory:"):
        raise Mistake("a memory:// store lives in one process: nobody else could give this worker jobs")
    jobs = jobs_to_run(run)
    terms = _group_of(settings, group)
    names = [name.strip() for each in types or () for name in each.split(",") if name.strip()]
    ended = optional_duration(grace)
    with checked():
        client = Client(address, jobs)
        made = Worker(
            client, concurrency=concurrency or terms.concurrency, types=names or _share(settings, jobs, group=terms),
            lease=terms.lease if lease is None else positive_duration(lease, "--lease"),
            renew_interval=_renew_interval(terms, lease, renew_interval),
            grace=terms.grace if ended is None else ended, worker_id=worker_id,
            poll_interval=positive_duration(poll_interval, "--poll-interval"),
            poll_without_wakeups=terms.poll_without_wakeups, retry=terms.retry, timeout=terms.timeout,
            mismatch_timeout=terms.mismatch_timeout, memory_limit=terms.memory_limit,
        )  # fmt: skip
    event_loop.run(_work(client, made))
    run.answer({"worker": made.id, "stopped": True})


def _renew_interval(terms: Group, lease: str | None, typed: str | None) -> float | None:
    """The one that was typed; else the file's, which belongs to the file's lease."""
    if typed is not None:
        return positive_duration(typed, "--renew-interval")
    return terms.renew_interval if lease is None else None


def jobs_to_run(run: Invocation, target: str | None = None) -> Jobs:
    """The app's job types, and those of the file's work kinds, which need no app. `target` is one that was typed."""
    app, kinds = target or run.settings.app, run.settings.config.settings.work_kinds
    if app is None and not kinds:
        run.settings.need_app()
    if app is not None:
        load_jobs(app, repr(app) if target else run.settings.app_named)
    with checked():
        return find_jobs(app, kinds)


def _group_of(settings: Settings, name: str | None) -> Group:
    if name is None:
        return settings.groups[0]
    for group in settings.groups:
        if group.name == name:
            return group
    known = ", ".join(group.name for group in settings.groups)
    raise Mistake(f"--group {name!r}: the file has no [workers.{name}]; there are: {known}")


def _share(settings: Settings, jobs: Jobs, *, group: Group) -> Sequence[str] | None:
    """The types of this group, as the supervisor would share them out; None, and so all, where there is nothing."""
    settings.check(jobs)
    shares = share_out(settings.groups, jobs)
    others = {name: share for name, share in shares.items() if name != group.name}
    if shares and group.name not in shares:
        raise Mistake(f"nothing is left for group {group.name!r}: give --group {' or '.join(others)}, or --types")
    for name, share in others.items():
        log.info("%s left to group %s; `worker --group %s` runs that", ", ".join(share), name, name)
    return shares.get(group.name)


async def _work(client: Client, made: Worker) -> None:
    with checked():
        await client.open()
    try:
        await client.get_job("none")  # whatever it answers, its tables are there
        await made.run()
    finally:
        await client.close()
