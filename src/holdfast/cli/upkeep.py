"""`migrate` and `doctor`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import checked, command
from holdfast.cli.exits import Exit, Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.sheet import Sheet
from holdfast.operations import Finding
from holdfast.stores.address import open_store


@command
def migrate(
    run: Invocation,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the script instead, for those who run their own migrations.")
    ] = False,
) -> None:
    """Bring the store's schema up to date. Safe to repeat."""
    if sql:
        _print_script(run)
        return
    with run.client(creates=True) as client:
        steps = client.store.migrate_sync()
        name = client.store.name
    shown = [tables.text(f"applied {step}") for step in steps] or [
        tables.text("nothing to do: the schema is up to date")
    ]
    run.answer({"store": name, "applied": steps}, *shown)


def _print_script(run: Invocation) -> None:
    with checked():
        store = open_store(run.address())
    script = store.migration_script()
    if script is None:
        raise Mistake(f"{store.name} needs no script: it makes by itself what it needs")
    if run.json:
        run.answer({"store": store.name, "sql": script})
    else:
        run.write(script.rstrip())


@command
def doctor(run: Invocation) -> None:
    """Look for what is wrong: the settings, the app, the store. Exit code 1 if there is an error."""
    findings = [Finding("ok", "version", f"holdfast {version('holdfast')} on Python {platform.python_version()}")]
    findings += _settings(run)
    with run.client() as client:
        findings.append(Finding("ok", "store", f"{client.store.name} answers"))
        findings += client.examine()
    table = Sheet("", "subject", "finding")
    for finding in findings:
        table.add_row(tables.word(finding.level), tables.text(finding.subject), tables.text(finding.detail))
    bad = [finding for finding in findings if finding.level == "error"]
    document = {"findings": [finding._asdict() for finding in findings], "healthy": not bad}
    run.answer(document, table, _verdict(findings))
    run.end(Exit.FAILED if bad else Exit.DONE)


def _settings(run: Invocation) -> list[Finding]:
    settings = run.settings
    path = settings.config.path
    found = [
        Finding("ok", "file", "none" if path is None else str(path)),
        Finding("ok", "address", f"from {settings.store_from}"),
    ]
    if settings.app is None:
        return [*found, Finding("ok", "app", "none; only `start` and `worker` need one")]
    try:
        jobs = run.jobs
    except Mistake as mistake:
        return [*found, Finding("error", "app", str(mistake))]
    handled = sum(job_type.function is not None for job_type in jobs)
    detail = f"{settings.app} from {settings.app_from}: {len(jobs)} job types, {handled} with a handler"
    return [*found, Finding("ok", "app", detail)]


def _verdict(findings: Sequence[Finding]) -> Text:
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    if errors:
        return tables.text(f"{tables.some(errors, 'error')}, {tables.some(warnings, 'warning')}", "red")
    return tables.text(tables.some(warnings, "warning"), "yellow") if warnings else tables.text("all is well", "green")
