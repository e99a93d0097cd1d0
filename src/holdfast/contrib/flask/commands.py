"""`flask holdfast COMMAND`: the commands of `holdfast`, with the store and the job types of the application."""

from __future__ import annotations

import os

import click
from flask.cli import ScriptInfo, with_appcontext

from holdfast.contrib.flask import registry

REGISTRY = "holdfast.contrib.flask.registry:jobs"


def _run(arguments: tuple[str, ...]) -> None:
    # Imported here: each `flask` command imports this module.
    from holdfast.cli.app import app as commands
    from holdfast.contrib.flask.extension import current_flask, extension_of

    app = current_flask()
    # For this process, and for those that a supervisor starts. Options of the command line come first.
    os.environ["HOLDFAST_STORE"] = extension_of(app).address(app)
    os.environ["HOLDFAST_APP"] = REGISTRY
    info = click.get_current_context().ensure_object(ScriptInfo)
    if info.app_import_path:
        os.environ["FLASK_APP"] = info.app_import_path
    registry.use(app)
    commands(list(arguments), prog_name="flask holdfast")


holdfast_command = click.Command(
    "holdfast",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []},
    callback=with_appcontext(_run),
    params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
    help="Run and operate background jobs: worker, status, explain, retry and others.",
)
