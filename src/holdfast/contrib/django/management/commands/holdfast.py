"""`manage.py holdfast ...`: the command line of Holdfast, with the store and the job types of the project."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from holdfast.cli.settings import Flags, Host
from holdfast.contrib.django.addresses import store_address
from holdfast.contrib.django.configuration import configuration

APP = "holdfast.contrib.django.workers:jobs"
NO_RELOAD = "--noreload"
_OF_DJANGO = ("--settings", "--pythonpath")


class Command(BaseCommand):
    """Passes its arguments to the command line of Holdfast."""

    help = "Workers, status and operations of Holdfast: `manage.py holdfast --help` lists the commands."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def run_from_argv(self, argv: list[str]) -> None:
        """From the terminal: Holdfast reads all options, also --help."""
        try:
            sys.exit(run(_without_options_of_django(argv[2:]), program=f"{argv[0].rpartition('/')[2]} {argv[1]}"))
        except ImproperlyConfigured as error:
            self.stderr.write(f"error: {error}")
            sys.exit(2)

    def handle(self, *args: Any, **options: Any) -> None:
        """From `call_command("holdfast", "status")`. CommandError for an exit code other than 0."""
        if code := run(options["arguments"], program="manage.py holdfast"):
            raise CommandError(f"holdfast {' '.join(options['arguments'][:1])} failed", returncode=code)


def run(arguments: list[str], *, program: str) -> int:
    """Run a command of Holdfast. Returns its exit code."""
    from holdfast.cli.app import app

    host = Host(store_address(configuration()), APP, "the setting HOLDFAST")
    try:
        app(_with_reload(arguments), prog_name=program, obj=Flags(host=host))
    except SystemExit as ended:  # every command ends with it
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _with_reload(arguments: list[str]) -> list[str]:
    """In development, a worker restarts after a change of the code, as `runserver` does."""
    if arguments[:1] != ["worker"]:
        return arguments
    rest = [each for each in arguments if each != NO_RELOAD]
    if settings.DEBUG and NO_RELOAD not in arguments and "--reload" not in arguments and "--help" not in arguments:
        rest.append("--reload")
    return rest


def _without_options_of_django(arguments: list[str]) -> list[str]:
    """Without --settings and --pythonpath: `manage.py` has applied them."""
    rest: list[str] = []
    skip = False
    for each in arguments:
        if skip:
            skip = False
        elif each in _OF_DJANGO:
            skip = True
        elif not each.startswith(tuple(f"{option}=" for option in _OF_DJANGO)):
            rest.append(each)
    return rest
