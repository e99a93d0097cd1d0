"""`doctor`: look for problems of the settings, the application and the store."""

from __future__ import annotations

import platform
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.exit_codes import Exit, Mistake, exit_of
from holdfast.cli.invocation import Invocation
from holdfast.cli.settings import NOWHERE, CommandSettings
from holdfast.cli.status import waiting_for_completion
from holdfast.cli.table_layout import Sheet
from holdfast.client.client_calls import Stats
from holdfast.client.schedule_findings import schedule_findings
from holdfast.client.unserved import external_types, served_types, unserved, without_external
from holdfast.config.wakeups import named_in
from holdfast.core.worker_record import LiveWorker
from holdfast.engine.operations import Finding
from holdfast.engine.wakeups import ConnectedWakeups
from holdfast.errors import NotPermitted, StoreUnavailable
from holdfast.queue.queue_type import PREFIX


@command
def doctor(run: Invocation) -> None:
    """Check the settings, the app and the store for problems. Exit code 1 if there is an error, 5 without a store."""
    findings = [Finding("ok", "version", f"holdfast {version('holdfast')} on Python {platform.python_version()}")]
    findings += _settings(run)
    code = Exit.DONE
    try:
        with run.client() as client:
            for shard in client.store.shards:
                if isinstance(shard.wakeups, ConnectedWakeups):
                    shard.wakeups.open()
            examined, stats, workers = client.examine(), client.stats(), client.workers()
            findings.append(Finding("ok", "store", f"{client.store.name} answers"))
            external = external_types(workers, run.declared_only)
            findings += without_external(examined, stats.types, external, datetime.now(UTC))
            findings += schedule_findings(client.schedules(), workers)
            unhandled = _unhandled(run, stats, workers)
            findings += unhandled
            findings += _workers(stats, workers, known={*external, *(finding.subject for finding in unhandled)})
    except (StoreUnavailable, NotPermitted) as error:
        findings.append(Finding("error", "store", run.complain(error)))
        code = exit_of(error)
    table = Sheet("", "subject", "finding")
    for finding in findings:
        table.add_row(tables.styled(finding.level), tables.text(finding.subject), tables.text(finding.detail))
    bad = [finding for finding in findings if finding.level == "error"]
    document = {"findings": [finding._asdict() for finding in findings], "healthy": not bad}
    run.answer(document, table, _verdict(findings))
    run.end(code or (Exit.FAILED if bad else Exit.DONE))


def _unhandled(run: Invocation, stats: Stats, workers: Sequence[LiveWorker]) -> list[Finding]:
    """Due jobs of types with neither a handler in the app nor a live worker. Named queues are left out.

    Empty without --app. A type that the app declares without a handler is no problem: its jobs are completed from
    outside.
    """
    if run.flags.app is None:
        return []
    try:
        handled = {job_type.name for job_type in run.jobs if job_type.function is not None}
    except Mistake:
        return []
    handled |= served_types(workers)
    return [
        Finding("ok", name, f"{waiting_for_completion(row.due)}: {run.settings.app} declares it without a handler")
        if name in run.declared_only
        else Finding("warning", name, f"{row.due:,} due, no handler in {run.settings.app}")
        for name, row in stats.types.items()
        if row.due and not row.paused and name not in handled and not name.startswith(PREFIX)
    ]


def _workers(stats: Stats, workers: Sequence[LiveWorker], *, known: Collection[str]) -> list[Finding]:
    """The live workers, and due jobs that none of them runs. The types in `known` have another finding already."""
    slots, busy = sum(worker.concurrency for worker in workers), sum(worker.busy for worker in workers)
    detail = f"{len(workers):,} live, {busy:,} of {slots:,} slots in use" if workers else "none is live"
    types = {name: row for name, row in stats.types.items() if name not in known}
    return [Finding("ok", "workers", detail), *unserved(types, workers)]


def _settings(run: Invocation) -> list[Finding]:
    settings = run.settings
    path = settings.config.path
    found = [
        Finding("ok", "file", "none" if path is None else str(path)),
        Finding("ok", "address", f"from {settings.store_from}"),
    ]
    if settings.wakeups is not None:
        found.append(Finding("ok", "wake-ups", f"from {settings.wakeups_from}"))
    elif settings.wakeups_from != NOWHERE:
        found.append(Finding("ok", "wake-ups", f"those from {settings.wakeups_from} are not used: {_own(settings)}"))
    if settings.app is None:
        return [*found, Finding("ok", "app", "none; only `start`, `schedule`, `worker` and `supervise` need one")]
    if run.flags.app is None:
        detail = f"{settings.app} from {settings.app_from}, not imported; `doctor --app {settings.app}` checks it"
        return [*found, Finding("ok", "app", detail)]
    try:
        jobs = run.jobs
    except Mistake as mistake:
        return [*found, Finding("error", "app", str(mistake))]
    handled = sum(job_type.function is not None for job_type in jobs)
    detail = f"{settings.app} from {settings.app_from}: {len(jobs)} job types, {handled} with a handler"
    return [*found, Finding("ok", "app", detail)]


def _own(settings: CommandSettings) -> str:
    return "the address names others" if named_in(settings.store or "") else "the store sends its own"


def _verdict(findings: Sequence[Finding]) -> Text:
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    if errors:
        return tables.text(f"{tables.some(errors, 'error')}, {tables.some(warnings, 'warning')}", "red")
    return tables.text(tables.some(warnings, "warning"), "yellow") if warnings else tables.text("all is well", "green")
