"""`status`: counts per type, running workers and problems, on one screen."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import Document
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import write_json
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import duration, iso, lasting
from holdfast.client.client import Client
from holdfast.core.job import Job
from holdfast.core.job import moment as to_moment
from holdfast.core.record import Status
from holdfast.engine.operations import Finding, TypeStats

WAITED_TOO_LONG = 60.0
"""Seconds that a due job may wait before `status` reports it."""
EXPIRED_TOO_LONG = 10.0
"""Seconds after the end of a lease within which a worker of the type reaps the job."""
MOST_RUNNING = 1000
EXTERNAL = "waits for an external completion"
"""Shown for a type that the application declares without a handler: no worker runs it."""


@command
def status(
    run: Invocation,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C; with --json, one line each.")
    ] = False,
    interval: Annotated[str, typer.Option(metavar="DURATION", help="With --watch: how often.")] = "1s",
) -> None:
    """Show the number of jobs by type and status, the workers that run jobs, and problems."""
    pause = max(duration(interval), 0.1)
    if watch:
        run.attend(partial(_watch, run, pause=pause))
    else:
        document = run.attend(partial(look, declared_only=run.declared_only))
        run.answer(document, screen(document))


async def _watch(run: Invocation, client: Client, *, pause: float) -> None:
    """Refresh until cancelled."""
    on_screen = run.out.is_terminal and not run.json
    declared_only = run.declared_only
    with Live(console=run.out, auto_refresh=False, screen=True) if on_screen else nullcontext() as live:
        while True:
            document = await look(client, declared_only=declared_only)
            if live is not None:
                live.update(screen(document), refresh=True)
            elif run.json:
                run.write(write_json(document))
            else:
                run.out.print(screen(document))
            await asyncio.sleep(pause)


async def look(client: Client, *, declared_only: Collection[str] = ()) -> Document:
    """The state of the store as a document. It costs little, so --watch reads it every second; `doctor` examines more.

    Jobs of `declared_only` types wait for an external completion, so they do not count as due.
    """
    now = datetime.now(UTC)
    stats = await client.stats()
    running: Sequence[Job] = ()
    if stats.counts[Status.RUNNING]:
        running = (await client.list_jobs(status="running", limit=MOST_RUNNING)).items
    for_workers = {name: row for name, row in stats.types.items() if name not in declared_only}
    troubles = [*_waiting_too_long(for_workers, now), *_expired(running, now)]
    return {
        "store": client.store.name,
        "at": iso(now),
        "health": "warning" if troubles else "ok",
        "counts": {str(status): count for status, count in stats.counts.items()},
        "due": sum(row.due for row in for_workers.values() if not row.paused),
        "types": [
            {**_type_document(row, now=now), "external": name not in for_workers} for name, row in stats.types.items()
        ],
        "workers": _workers(running, now),
        "findings": [finding._asdict() for finding in troubles],
    }


def screen(document: Document) -> RenderableType:
    """The document as text."""
    heading = Text.assemble(
        tables.text(document["store"], "bold"),
        "  ",
        tables.styled(document["health"]),
        f"  {document['due']:,} due now",
    )
    parts: list[RenderableType] = [heading, ""]
    statuses = [str(status) for status in Status]
    if document["types"]:
        columns = ("type", *statuses, "scheduled", "oldest due", "")
        counted = Sheet(*columns, numbers=(*statuses, "scheduled", "oldest due"))
        for row in document["types"]:
            oldest = row["oldest_due_seconds"]
            counted.add_row(
                tables.text(row["type"]), *(_count(row[each], each) for each in (*statuses, "scheduled")),
                "" if oldest is None else lasting(oldest), _remark(row),
            )  # fmt: skip
        if len(document["types"]) > 1:
            counted.add_section()
            counted.add_row("all", *(_count(document["counts"][each], each) for each in statuses))
        parts.append(counted)
    else:
        parts.append(tables.text("no jobs", "dim"))
    if document["workers"]:
        at_work = Sheet("worker", "running", "lease ends", numbers=("running", "lease ends"))
        for row in document["workers"]:
            left = row["lease_seconds"]
            ends = tables.text(f"{lasting(-left)} ago", "red") if left < 0 else tables.text(f"in {lasting(left)}")
            at_work.add_row(tables.text(row["worker"]), f"{row['running']:,}", ends)
        parts += ["", at_work]
    for row in document["findings"]:
        parts.append(Text.assemble(tables.styled(row["level"]), " ", tables.text(f"{row['subject']}: {row['detail']}")))
    return Group(*parts)


def _remark(row: Document) -> Text:
    if row["external"] and row["due"]:
        return tables.text(EXTERNAL, "dim")
    return tables.text("paused" if row["paused"] else "", "yellow")


def _type_document(row: TypeStats, *, now: datetime) -> Document:
    oldest = to_moment(row.oldest_due)
    return {
        "type": row.type,
        **{str(status): row.counts.get(status, 0) for status in Status},
        "due": row.due,
        "scheduled": row.scheduled,
        "oldest_due_seconds": None if oldest is None else max(0.0, (now - oldest).total_seconds()),
        "paused": row.paused,
    }


def _workers(running: Sequence[Job], now: datetime) -> list[Document]:
    """The workers that hold claims, and when the first lease of each ends."""
    ends: dict[str, list[datetime]] = {}
    for job in running:
        if job.worker is not None and job.leased_until is not None:
            ends.setdefault(job.worker, []).append(job.leased_until)
    return [
        {"worker": worker, "running": len(leases), "lease_seconds": (min(leases) - now).total_seconds()}
        for worker, leases in sorted(ends.items())
    ]


def _waiting_too_long(types: Mapping[str, TypeStats], now: datetime) -> list[Finding]:
    found: list[Finding] = []
    for name, row in types.items():
        oldest = to_moment(row.oldest_due)
        waited = 0.0 if oldest is None or row.paused else (now - oldest).total_seconds()
        if waited > WAITED_TOO_LONG:
            detail = f"{row.due:,} due, the first for {lasting(waited)}; is a worker running that takes them?"
            found.append(Finding("warning", name, detail))
    return found


def _expired(running: Sequence[Job], now: datetime) -> list[Finding]:
    """Jobs whose lease has ended. A live worker of their type reaps them within seconds."""
    late = sorted(now - job.leased_until for job in running if job.leased_until is not None and job.leased_until < now)
    if not late or late[-1].total_seconds() < EXPIRED_TOO_LONG:
        return []
    detail = f"{len(late):,}, the first {lasting(late[-1].total_seconds())} ago; is a worker of their types running?"
    return [Finding("warning", "leases that ran out", detail)]


def _count(count: int, column: str) -> Text:
    return tables.text(
        "·" if count == 0 else f"{count:,}", "bright_black" if count == 0 else tables.STYLES.get(column, "")
    )
