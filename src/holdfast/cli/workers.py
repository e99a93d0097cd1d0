"""`workers`: list the live workers, or drain one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

import typer

from holdfast.cli import tables
from holdfast.cli.bulk import Reason
from holdfast.cli.command import checked, command
from holdfast.cli.documents import Document
from holdfast.cli.invocation import Invocation
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import iso, relative
from holdfast.core.worker_record import LiveWorker


@command
def workers(run: Invocation) -> None:
    """List the live workers: those that reported themselves within the last 90 seconds."""
    with run.client() as client:
        found = client.workers()
    shown = worker_table(found) if found else tables.text("no live worker", "dim")
    run.answer({"workers": [worker_document(worker) for worker in found]}, shown)


@command
def drain(
    run: Invocation,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a worker.")],
    reason: Reason = None,
) -> None:
    """Stop a worker as SIGTERM does: it claims no more jobs, and running ones have its grace period to end."""
    with checked(), run.client() as client:
        client.drain_worker(id, reason=reason)
    run.answer({"drained": id}, tables.text(f"worker {id} drains"))


def worker_document(worker: LiveWorker) -> Document:
    return {
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "registry": worker.registry,
        "types": list(worker.types),
        "concurrency": worker.concurrency,
        "busy": worker.busy,
        "ahead": worker.ahead,
        "draining": worker.draining,
        "started_at": iso(worker.started_at),
        "seen_at": iso(worker.seen_at),
    }


def worker_table(found: Iterable[LiveWorker]) -> Sheet:
    """Workers, one per line."""
    now = datetime.now(UTC)
    made = Sheet("id", "busy", "host", "pid", "types", "started", "seen", "state", numbers=("busy",))
    for worker in found:
        made.add_row(
            tables.text(worker.id), tables.text(f"{worker.busy}/{worker.concurrency}"), tables.text(worker.host),
            tables.text(worker.pid), tables.text(", ".join(worker.types)),
            tables.text(relative(worker.started_at, now)), tables.text(relative(worker.seen_at, now)),
            tables.text("draining" if worker.draining else "", "yellow"),
        )  # fmt: skip
    return made
