"""The commands, put together."""

from __future__ import annotations

import io
import sys
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated

import typer

from holdfast.cli import (
    backlog,
    bench,
    delete,
    doctor,
    events,
    help,
    retry,
    show,
    simulate,
    start,
    status,
    supervise,
    worker,
)
from holdfast.cli import (
    config as config_command,
)
from holdfast.cli import (
    list as list_command,
)
from holdfast.cli.command import App, ConfigFile, Json, Store, command
from holdfast.cli.exit_codes import MEANINGS, Exit
from holdfast.cli.invocation import Invocation
from holdfast.cli.settings import Flags

EPILOG = "Exit codes: " + "; ".join(f"{int(code)} {meaning}" for code, meaning in MEANINGS.items()) + "."

app = typer.Typer(
    name="holdfast",
    cls=help.Group,
    help="Durable background jobs that commit with your data.",
    epilog=EPILOG,
    no_args_is_help=True,
    # Its tracebacks show local variables, and those may hold payloads and passwords.
    pretty_exceptions_enable=False,
)


def main() -> None:
    """The `holdfast` script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows its escape.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="holdfast")


def _tell_version(wanted: bool) -> None:
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
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    ctx.obj = Flags(store, app, config, json)


@command
def demo(
    run: Invocation,
    customers: Annotated[
        int, typer.Option(min=4, max=1000, help="How many customers the shop has, with 18 orders each.")
    ] = 20,
) -> None:
    """See it at work: chains, a worker killed in the middle, nothing lost. Takes half a minute, needs nothing."""
    # Only here: it is an edge of its own, and no other command needs it.
    from holdfast.demo import run_demo, summary

    verdict = run_demo(run.out, customers=customers, quiet=run.json)
    run.answer({**asdict(verdict), "passed": verdict.passed}, summary(verdict))
    run.end(Exit.DONE if verdict.passed else Exit.FAILED)


for panel, functions in {
    "Try": {"demo": demo, "simulate": simulate.simulate_, "bench": bench.bench_},
    "Run": {
        "worker": worker.worker,
        "supervise": supervise.supervise,
        "migrate": doctor.migrate,
        "config": config_command.config,
    },
    "Start": {"start": start.start, "wait": start.wait},
    "Look": {
        "status": status.status,
        "backlog": backlog.backlog,
        "list": list_command.list_,
        "show": show.show,
        "report": show.report,
        "events": events.events,
    },
    "Operate": {
        "retry": retry.retry,
        "cancel": retry.cancel,
        "run-now": retry.run_now,
        "delete": delete.delete,
        "pause": retry.pause,
        "resume": retry.resume,
        "prune": delete.prune,
        "doctor": doctor.doctor,
    },
}.items():
    for name, function in functions.items():
        app.command(name, cls=help.Command, rich_help_panel=panel, epilog=EPILOG)(function)
