"""`worker`: run jobs until a signal stops the process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, nullcontext

from holdfast.cli.command import checked, command
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.exporters import exporter
from holdfast.cli.invocation import Invocation
from holdfast.cli.load_app import load_jobs
from holdfast.cli.logs import log_to_stderr
from holdfast.cli.reloading import SourceWatch, restart, restarted_after_repair
from holdfast.cli.times import optional_duration, positive_duration
from holdfast.cli.worker_options import (
    Concurrency,
    Grace,
    GroupName,
    Health,
    Lease,
    LogJson,
    LogLevel,
    PollInterval,
    Reload,
    RenewInterval,
    Target,
    Types,
    WorkerId,
)
from holdfast.client.client import Client
from holdfast.config import FileSettings
from holdfast.config.listen_address import parse_listen
from holdfast.core.defaults import POLL_INTERVAL
from holdfast.engine.observers import log
from holdfast.registry.jobs import Jobs
from holdfast.stores.sharded.address import each_address
from holdfast.supervisor import Group
from holdfast.supervisor.child_protocol import assign_types, find_jobs
from holdfast.supervisor.worker_health import WorkerHealth
from holdfast.worker import Worker, event_loop


@command
def worker(
    run: Invocation,
    target: Target = None,
    group: GroupName = None,
    concurrency: Concurrency = None,
    types: Types = None,
    lease: Lease = None,
    renew_interval: RenewInterval = None,
    poll_interval: PollInterval = f"{POLL_INTERVAL:g}s",
    grace: Grace = None,
    worker_id: WorkerId = None,
    health: Health = None,
    reload: Reload = False,
    log_level: LogLevel = None,
    log_json: LogJson = False,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C.

    At the first signal, running jobs have the grace period to end. A second signal releases them at once. The settings
    of [workers] in the file apply unless an option overrides them.
    """
    settings = run.settings.config.settings
    log_to_stderr(
        level=log_level or settings.logging.level, as_json=log_json or run.json or settings.logging.json
    )  # fmt: skip
    address = run.address
    if any(each.startswith("memory:") for each in each_address(address)):
        raise Mistake("a memory:// store exists in one process only: no other process could start jobs for this worker")
    with checked():
        listen = None if health is None else parse_listen(health)
    with restarted_after_repair() if reload else nullcontext():
        jobs = jobs_to_run(run, target)
    terms = _group_of(settings, group)
    names = [name.strip() for each in types or () for name in each.split(",") if name.strip()]
    ended = optional_duration(grace)
    exported = exporter() if listen is not None else None
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
            observers=[] if exported is None else [exported.attempts],
        )  # fmt: skip
    watch = SourceWatch() if reload else None
    served = None if listen is None else WorkerHealth(made, client, listen, exporter=exported)
    event_loop.run(_work(client, made, served, watch))
    if watch is not None and watch.changed:
        restart()
    run.answer({"worker": made.id, "stopped": True})


def _renew_interval(terms: Group, lease: str | None, typed: str | None) -> float | None:
    """The interval of the command line, else that of the file, which belongs to the lease of the file."""
    if typed is not None:
        return positive_duration(typed, "--renew-interval")
    return terms.renew_interval if lease is None else None


def jobs_to_run(run: Invocation, target: str | None = None) -> Jobs:
    """The job types of the application, and those of the file's work kinds. `target` is an argument that names it."""
    app, kinds = target or run.settings.app, run.settings.config.settings.work_kinds
    if app is None and not kinds:
        run.settings.need_app()
    if app is not None:
        load_jobs(app, repr(app) if target else run.settings.app_named)
    with checked():
        return find_jobs(app, kinds)


def _group_of(settings: FileSettings, name: str | None) -> Group:
    if name is None:
        return settings.groups[0]
    for group in settings.groups:
        if group.name == name:
            return group
    known = ", ".join(group.name for group in settings.groups)
    raise Mistake(f"--group {name!r}: the file has no [workers.{name}]; there are: {known}")


def _share(settings: FileSettings, jobs: Jobs, *, group: Group) -> Sequence[str] | None:
    """The types that the supervisor would assign to this group; None for all types if no group names any."""
    settings.check(jobs)
    shares = assign_types(settings.groups, jobs)
    others = {name: share for name, share in shares.items() if name != group.name}
    if shares and group.name not in shares:
        raise Mistake(f"group {group.name!r} has no job types: give --group {' or '.join(others)}, or --types")
    for name, share in others.items():
        log.info("%s: run by group %s, see `worker --group %s`", ", ".join(share), name, name)
    return shares.get(group.name)


async def _work(client: Client, made: Worker, health: WorkerHealth | None, watch: SourceWatch | None) -> None:
    with checked():
        await client.open()
    try:
        await client.get_job("none")  # fails if the tables are missing
        async with AsyncExitStack() as stack:
            if health is not None:
                await _listen(health, stack)
            if watch is not None:
                stack.enter_context(watch.watching(made))
            await made.run()
    finally:
        await client.close()


async def _listen(health: WorkerHealth, stack: AsyncExitStack) -> None:
    try:
        await stack.enter_async_context(health)
    except OSError as error:
        raise Mistake(f"cannot listen: {error.strerror or error}") from error
