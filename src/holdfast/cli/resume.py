"""`resume`: allow claims of paused job types again."""

from __future__ import annotations

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.cli.pause import Names
from holdfast.cli.printable import printable
from holdfast.cli.selection import typed_ids


@command
def resume(run: Invocation, types: Names, reason: Reason = None) -> None:
    """Allow claims of these types again."""
    names = typed_ids(types)
    with run.client() as client:
        stored = client.stats().types
        for name in names:
            if name not in stored or not stored[name].paused:
                run.warn(f"{printable(name)} was not paused")
        client.resume(names, reason=reason)
    run.answer({"resumed": names}, *(tables.text(f"resumed {name}") for name in names))
