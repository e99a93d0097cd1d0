"""`pause`: stop claims of some job types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import command
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import printable
from holdfast.cli.selection import typed_ids
from holdfast.cli.worker import jobs_to_run
from holdfast.engine.operations import TypeStats

Names = Annotated[list[str], typer.Argument(metavar="TYPE...", help="Names of job types.")]


@command
def pause(run: Invocation, types: Names, reason: Reason = None) -> None:
    """Stop claims of these types until they are resumed. Running jobs continue."""
    names = typed_ids(types)
    with run.client() as client:
        _check_known(run, names, stored=client.stats().types)
        client.pause(names, reason=reason)
    run.answer({"paused": names}, *(tables.text(f"paused {name}") for name in names))


def _check_known(run: Invocation, names: Sequence[str], *, stored: Mapping[str, TypeStats]) -> None:
    """Refuse a name that neither the application of --app nor the store has: it may be misspelt.

    Without --app the application is not imported. The type may then be one that is started later, so there is only a
    warning.
    """
    try:
        declared = None if run.flags.app is None else {job_type.name for job_type in jobs_to_run(run)}
    except Mistake as mistake:
        run.warn(str(mistake))
        declared = None
    for name in names:
        if name in stored or (declared is not None and name in declared):
            continue
        if declared is None:
            run.warn(f"the store has no job of a type {printable(repr(name))}; it is paused nevertheless")
            continue
        near = get_close_matches(name, {*stored, *declared}, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise Mistake(f"{run.settings.app} has no job type {name!r}, and the store has no job of it{hint}")
