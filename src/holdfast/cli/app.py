"""The `holdfast` command with its subcommands."""

from __future__ import annotations

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from holdfast.cli import (
    audit,
    backfill,
    backlog,
    bench,
    cancel,
    dashboard,
    delete,
    demo,
    doctor,
    errors,
    events,
    explain,
    fire,
    help,
    limits,
    mcp,
    migrate,
    pause,
    pause_schedule,
    prune,
    report,
    resume,
    resume_schedule,
    retry,
    run_now,
    schedule,
    schedules,
    send,
    show,
    simulate,
    skip,
    start,
    stats,
    status,
    supervise,
    top,
    unschedule,
    wait,
    worker,
    workers,
)
from holdfast.cli import config as config_command
from holdfast.cli import list as list_command
from holdfast.cli.command import App, ConfigFile, Json, Store, one_address
from holdfast.cli.command_group import command_group
from holdfast.cli.exit_codes import MEANINGS, Exit
from holdfast.cli.settings import Flags

EPILOG = "Exit codes: " + "; ".join(f"{int(code)} {meaning}" for code, meaning in MEANINGS.items()) + "."

app = typer.Typer(
    name="holdfast",
    cls=help.PlainTextGroup,
    help="Durable background jobs that commit with your data.",
    epilog=EPILOG,
    no_args_is_help=True,
    # Typer's tracebacks show local variables, which may contain payloads and passwords.
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of the `holdfast` script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal cannot encode are printed as escapes.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="holdfast")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {version('holdfast')}")
        raise typer.Exit(Exit.DONE)


@app.callback()
def holdfast(
    ctx: typer.Context,
    store: Store = None,
    app: App = None,
    config: ConfigFile = None,
    json: Json = False,
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    # A program that contains this command line may have given a store and an application.
    outer = ctx.obj if isinstance(ctx.obj, Flags) else Flags()
    ctx.obj = Flags(one_address(store), app, config, json).over(outer)


for panel, functions in {
    "Try": {"demo": demo.demo, "simulate": simulate.simulate_, "bench": bench.bench_},
    "Run": {
        "worker": worker.worker,
        "supervise": supervise.supervise,
        "dashboard": dashboard.dashboard,
        "migrate": migrate.migrate,
        "config": config_command.config,
    },
    "Start": {"start": start.start, "wait": wait.wait},
    "Schedule": {
        "schedules": schedules.schedules,
        "schedule": schedule.schedule,
        "unschedule": unschedule.unschedule,
        "fire": fire.fire,
        "backfill": backfill.backfill,
        "pause-schedule": pause_schedule.pause_schedule,
        "resume-schedule": resume_schedule.resume_schedule,
    },
    "Look": {
        "status": status.status,
        "top": top.top,
        "stats": stats.stats,
        "errors": errors.errors,
        "backlog": backlog.backlog,
        "list": list_command.list_,
        "show": show.show,
        "explain": explain.explain,
        "report": report.report,
        "events": events.events,
        "audit": audit.audit,
    },
    "Operate": {
        "retry": retry.retry,
        "cancel": cancel.cancel,
        "run-now": run_now.run_now,
        "skip": skip.skip,
        "send": send.send,
        "delete": delete.delete,
        "pause": pause.pause,
        "resume": resume.resume,
        "prune": prune.prune,
        "doctor": doctor.doctor,
        "mcp": mcp.mcp,
    },
}.items():
    for name, function in functions.items():
        app.command(name, cls=help.PlainTextCommand, rich_help_panel=panel, epilog=EPILOG)(function)

app.add_typer(
    command_group(workers.workers, {"drain": workers.drain}, epilog=EPILOG), name="workers", rich_help_panel="Look"
)
app.add_typer(
    command_group(
        limits.limits, {"set": limits.set_limit, "reset": limits.reset_limit}, epilog=EPILOG, negative=("set",)
    ),
    name="limits",
    rich_help_panel="Look",
)
