"""The options of `worker`, some of which `supervise` has too."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from holdfast.core.defaults import CONCURRENCY, GRACE, SUPERVISED_LEASE


class Level(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Target = Annotated[
    str | None, typer.Argument(metavar="MODULE:JOBS", help="The job types, like --app.", show_default=False)
]
GroupName = Annotated[str | None, typer.Option(metavar="NAME", help="Use [workers.NAME] of the file, not [workers].")]
Concurrency = Annotated[
    int | None, typer.Option(min=1, help=f"Jobs at a time. Default: the value in the file, else {CONCURRENCY}.")
]
Types = Annotated[
    list[str] | None,
    typer.Option(help="Only these job types: a,b or repeated. Default: the types of the group, else all."),
]
Lease = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help=f"How long a claim is valid without renewal. Default: the value in the file, else {SUPERVISED_LEASE:g}s.",
    ),
]
RenewInterval = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="How often a lease is renewed. Default: the value in the file, else lease / 3."
    ),
]
PollInterval = Annotated[
    str, typer.Option(metavar="DURATION", help="Look for due jobs at least this often, also while wake-ups arrive.")
]
Grace = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help=f"How long running jobs may take to end at a stop. Default: the value in the file, else {GRACE:g}s.",
    ),
]
WorkerId = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the worker. Default: generated.")]
Health = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Serve /healthz, /readyz, /backlog and /metrics.")
]
Reload = Annotated[
    bool, typer.Option("--reload", help="Restart, after draining, when a module of the application changes.")
]
LogLevel = Annotated[Level | None, typer.Option(help="Log level on stderr. Default: level in [logging], else info.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object per line.")]
