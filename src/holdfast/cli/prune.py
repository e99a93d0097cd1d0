"""`prune`: delete finished chains past their keep time."""

from __future__ import annotations

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.invocation import Invocation
from holdfast.cli.progress import progress

BATCH = 500


@command
def prune(run: Invocation) -> None:
    """Delete finished chains past their keep time. Workers do this automatically; this command does it now."""
    pruned = 0
    with run.client() as client, progress(run) as bar:
        task = bar.add_task("pruning", total=None)
        while found := client.prune(limit=BATCH):
            pruned += len(found)
            bar.advance(task, len(found))
    run.answer({"pruned": pruned}, tables.text(f"pruned {tables.some(pruned, 'chain')}"))
