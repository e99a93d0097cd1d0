"""The answer of a command that acted on several chains: what was done, and what was refused."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.documents import Document
from holdfast.cli.exit_codes import Exit
from holdfast.cli.invocation import Invocation
from holdfast.core.record import Status


def status_document(status: Status) -> Document:
    """The new status of a chain, for its entry in the answer."""
    return {"status": str(status)}


def report_outcomes(run: Invocation, verb: str, *, documents: Sequence[Document], code: Exit) -> None:
    """Answer with an entry per chain, and end with this exit code."""
    done = [document for document in documents if document["done"]]
    shown = [tables.text(f"{verb} {document['id']}") for document in done[:20]]
    if len(done) > 20:
        shown.append(tables.text(f"... and {len(done) - 20:,} more"))
    if not documents:
        shown.append(tables.text("nothing found", "dim"))
    run.answer({"items": documents, "done": len(done), "refused": len(documents) - len(done)}, *shown)
    for document in documents:
        if not document["done"]:
            run.err.print(Text.assemble(("refused ", "red"), tables.text(document["error"])), soft_wrap=True)
    run.end(code)
