"""The `holdfast` command with its subcommands."""

from __future__ import annotations

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from holdfast.cli import (
    backlog,
    bench,
    cancel,
    delete,
    demo,
    doctor,
    events,
    help,
    migrate,
    pause,
    prune,
    report,
    resume,
    retry,
    run_now,
    show,
    simulate,
    start,
    status,
    supervise,
    wait,
    worker,
)
from holdfast.cli import config as config_command
from holdfast.cli import list as list_command
from holdfast.cli.command import App, ConfigFile, Json, Store
from holdfast.cli.exit_codes import MEANINGS, Exit
from holdfast.cli.settings import Flags

EPILOG = "Exit codes: " + "; ".join(f"{int(code)} {meaning}" for code, meaning in MEANINGS.items()) + "."

app = typer.Typer(
    name="holdfast",
    cls=help.Group,
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
    ctx.obj = Flags(store, app, config, json)


for panel, functions in {
    "Try": {"demo": demo.demo, "simulate": simulate.simulate_, "bench": bench.bench_},
    "Run": {
        "worker": worker.worker,
        "supervise": supervise.supervise,
        "migrate": migrate.migrate,
        "config": config_command.config,
    },
    "Start": {"start": start.start, "wait": wait.wait},
    "Look": {
        "status": status.status,
        "backlog": backlog.backlog,
        "list": list_command.list_,
        "show": show.show,
        "report": report.report,
        "events": events.events,
    },
    "Operate": {
        "retry": retry.retry,
        "cancel": cancel.cancel,
        "run-now": run_now.run_now,
        "delete": delete.delete,
        "pause": pause.pause,
        "resume": resume.resume,
        "prune": prune.prune,
        "doctor": doctor.doctor,
    },
}.items():
    for name, function in functions.items():
        app.command(name, cls=help.Command, rich_help_panel=panel, epilog=EPILOG)(function)
