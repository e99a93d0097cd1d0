"""Actions on many chains: the count and the confirmation before, the progress, and the report of what was skipped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.documents import Document
from holdfast.cli.exit_codes import Exit, Mistake, exit_of
from holdfast.cli.invocation import Invocation
from holdfast.cli.progress import progress
from holdfast.cli.selection import Chosen, Selection
from holdfast.cli.table_layout import Sheet
from holdfast.errors import ChainNotFound, HoldfastError, NotPermitted, StoreUnavailable

BATCH = 100
"""Chains that one operation changes."""
SHOWN = 20
"""Chains that a table or a report lists by their ids."""

DryRun = Annotated[bool, typer.Option("--dry-run", help="List what would be changed, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for a confirmation.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Act on at most this many, the newest first.")]
Reason = Annotated[str | None, typer.Option(help="Shown in the audit.")]

Act = Callable[[Sequence[Chosen]], "list[Document]"]
"""Changes chains, all or none. Returns a document for each; one with an `error` for a chain that did not change."""


@dataclass(slots=True)
class Outcomes:
    """What happened to each chain, in the order of the selection, and the exit code."""

    items: dict[str, Document] = field(default_factory=lambda: {})  # noqa: PIE807 - typed by its annotation
    code: Exit = Exit.DONE

    def add(self, id: str, document: Document) -> None:
        self.items[id] = {"id": id, "done": "error" not in document, **document}
        if "error" in document:
            self.code = self.code or Exit.FAILED

    def skip(self, id: str, error: HoldfastError) -> None:
        self.items[id] = {"id": id, "done": False, "error": str(error)}
        self.code = self.code or exit_of(error)

    def again(self, later: Outcomes) -> None:
        """Replace the outcomes of chains that were tried again."""
        self.items |= later.items
        if not self.skipped:
            self.code = Exit.DONE

    @property
    def done(self) -> list[Document]:
        return [item for item in self.items.values() if item["done"]]

    @property
    def skipped(self) -> list[Document]:
        return [item for item in self.items.values() if not item["done"]]


def stop_if_none(run: Invocation, selection: Selection) -> None:
    """End with exit code 3 if a filter matches nothing."""
    if selection.filtered and not selection.chosen:
        document: dict[str, Any] = {"matched": 0, "done": 0, "skipped": 0, "items": []}
        run.answer(document, tables.text("nothing matches the filter", "dim"))
        raise typer.Exit(Exit.NOT_FOUND)


def preview(run: Invocation, action: str, selection: Selection, items: Sequence[Document] | None = None) -> None:
    """Answer of a dry run."""
    listed = [each.document() for each in selection.chosen] if items is None else list(items)
    table = Sheet("type", "status", "error", "id")
    for item in listed[:SHOWN]:
        cells = (tables.text(item["type"]), tables.styled(item["status"]), tables.text(item["error"] or "", "red"))
        table.add_row(*cells, tables.text(item["id"]))
    more = [tables.text(f"... and {len(listed) - SHOWN:,} more")] if len(listed) > SHOWN else []
    count = tables.text(f"would {action} {tables.some(len(listed), 'chain')}")
    run.answer({"dry_run": True, "matched": len(listed), "items": listed}, count, *([table] if listed else []), *more)
    for id in selection.missing:
        run.complain(ChainNotFound(id))
    run.end(Exit.NOT_FOUND if selection.missing else Exit.DONE)


def confirm(run: Invocation, action: str, count: int, *, yes: bool, final: bool = False) -> None:
    """Ask before the action. Without a terminal, --yes is required. `final`: nothing can undo the action."""
    if yes:
        return
    what = f"{action} {tables.some(count, 'chain')}{' for good' if final else ''}"
    if run.json or not (sys.stdin.isatty() and run.err.is_terminal):
        raise Mistake(f"this would {what}; add --yes, or --dry-run to see which")
    if not typer.confirm(f"{what}?", err=True):
        run.note("nothing was changed")
        raise typer.Exit(Exit.FAILED)


def act_on(run: Invocation, action: str, selection: Selection, act: Act) -> Outcomes:
    """Change the chains in batches. A batch that is refused is divided, so that only the refused chains are skipped.

    An outage of the store ends the command.
    """
    outcomes = Outcomes()
    with progress(run) as bar:
        task = bar.add_task(action, total=len(selection.chosen))
        for begin in range(0, len(selection.chosen), BATCH):
            batch = selection.chosen[begin : begin + BATCH]
            _act(batch, act, outcomes)
            bar.advance(task, len(batch))
    for id in selection.missing:
        outcomes.skip(id, ChainNotFound(id))
    return outcomes


def _act(batch: Sequence[Chosen], act: Act, outcomes: Outcomes) -> None:
    try:
        documents = act(batch)
    except (StoreUnavailable, NotPermitted):
        raise
    except HoldfastError as error:
        if len(batch) == 1:
            outcomes.skip(batch[0].id, error)
        else:
            middle = len(batch) // 2
            _act(batch[:middle], act, outcomes)
            _act(batch[middle:], act, outcomes)
    else:
        for each, document in zip(batch, documents, strict=True):
            outcomes.add(each.id, document)


def report(run: Invocation, verb: str, outcomes: Outcomes, **more: object) -> None:
    """Answer with what was done and what was skipped, and end with the exit code."""
    done, skipped = outcomes.done, outcomes.skipped
    shown = [tables.text(f"{verb} {item['id']}") for item in done[:SHOWN]]
    if len(done) > SHOWN:
        shown.append(tables.text(f"... and {len(done) - SHOWN:,} more"))
    counts = {"matched": len(outcomes.items), "done": len(done), "skipped": len(skipped)}
    run.answer({**counts, "items": list(outcomes.items.values()), **more}, *shown)
    for item in skipped[:SHOWN]:
        run.err.print(Text.assemble((f"not {verb}: ", "red"), tables.text(item["error"])), soft_wrap=True)
    if len(skipped) > SHOWN:
        run.note(f"... and {len(skipped) - SHOWN:,} more not {verb}")
    if len(outcomes.items) > 1:
        run.note(f"{verb} {tables.some(len(done), 'chain')}, {len(skipped):,} not {verb}")
    run.end(outcomes.code)
