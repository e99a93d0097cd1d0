"""`status`: counts per type, running workers and problems, on one screen."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
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
from holdfast.cli.rates import counters_document, counts_table
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import duration, iso, lasting
from holdfast.cli.workers import worker_document
from holdfast.client.client import Client
from holdfast.client.unserved import external_types, for_workers, served_types, unserved
from holdfast.core.job import Job
from holdfast.core.job import moment as to_moment
from holdfast.core.record import Status
from holdfast.core.worker_record import LiveWorker
from holdfast.engine.operations import Finding, TypeStats

WAITED_TOO_LONG = 60.0
"""Seconds that a due job may wait before `status` reports it."""
EXPIRED_TOO_LONG = 10.0
"""Seconds after the end of a lease within which a worker of the type reaps the job."""
MOST_RUNNING = 1000
RATES_OVER = timedelta(minutes=5)


@command
def status(
    run: Invocation,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C; with --json, one line each.")
    ] = False,
    interval: Annotated[str, typer.Option(metavar="DURATION", help="With --watch: how often.")] = "1s",
    rates: Annotated[bool, typer.Option("--rates", help="Also what happened in the last five minutes.")] = False,
) -> None:
    """Show the number of jobs by type and status, the workers that run jobs, and problems."""
    pause = max(duration(interval), 0.1)
    if watch:
        run.attend(partial(_watch, run, pause=pause, rates=rates))
    else:
        document = run.attend(partial(look, declared_only=run.declared_only, rates=rates))
        run.answer(document, screen(document))


async def _watch(run: Invocation, client: Client, *, pause: float, rates: bool) -> None:
    """Refresh until cancelled."""
    on_screen = run.out.is_terminal and not run.json
    declared_only = run.declared_only
    with Live(console=run.out, auto_refresh=False, screen=True) if on_screen else nullcontext() as live:
        while True:
            document = await look(client, declared_only=declared_only, rates=rates)
            if live is not None:
                live.update(screen(document), refresh=True)
            elif run.json:
                run.write(write_json(document))
            else:
                run.out.print(screen(document))
            await asyncio.sleep(pause)


async def look(client: Client, *, declared_only: Collection[str] = (), rates: bool = False) -> Document:
    """The state of the store as a document. It costs little, so --watch reads it every second; `doctor` examines more.

    Jobs of `declared_only` types wait for an external completion, so they do not count as due. The same applies to
    types that live workers declare without a handler. `rates`: also what happened in the last five minutes.
    """
    now = datetime.now(UTC)
    stats = await client.stats()
    workers = await client.workers()
    running: Sequence[Job] = ()
    if stats.counts[Status.RUNNING]:
        running = (await client.list_jobs(status="running", limit=MOST_RUNNING)).items
    external = external_types(workers, declared_only)
    waiting = for_workers(stats.types, external)
    late = _waiting_too_long(waiting, served_types(workers), now)
    troubles = [*unserved(waiting, workers), *late, *_expired(running, now)]
    counted = {"rates": counters_document(await client.counters(now - RATES_OVER))} if rates else {}
    return {
        "store": client.store.name,
        "at": iso(now),
        "health": "warning" if troubles else "ok",
        "counts": {str(status): count for status, count in stats.counts.items()},
        "due": sum(row.due for row in waiting.values()),
        "types": [{**_type_document(row, now=now), "external": name in external} for name, row in stats.types.items()],
        "workers": _workers(workers, running, now),
        "findings": [finding._asdict() for finding in troubles],
        **counted,
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
            oldest = None if row["external"] else row["oldest_due_seconds"]
            counted.add_row(
                tables.text(row["type"]), *(_count(row[each], each) for each in (*statuses, "scheduled")),
                "" if oldest is None else lasting(oldest), type_remark(row),
            )  # fmt: skip
        if len(document["types"]) > 1:
            counted.add_section()
            counted.add_row("all", *(_count(document["counts"][each], each) for each in statuses))
        parts.append(counted)
    else:
        parts.append(tables.text("no jobs", "dim"))
    if document.get("rates", {}).get("types"):
        parts += ["", counts_table(document["rates"])]
    if document["workers"]:
        parts += ["", _worker_table(document["workers"])]
    for row in document["findings"]:
        parts.append(Text.assemble(tables.styled(row["level"]), " ", tables.text(f"{row['subject']}: {row['detail']}")))
    return Group(*parts)


def waiting_for_completion(count: int) -> str:
    """Shown for due jobs of a type that is declared without a handler: no worker runs them."""
    return f"{count:,} {'waits' if count == 1 else 'wait'} for an external completion"


def type_remark(row: Document) -> Text:
    """Why the due jobs of a type are not claimed, if there is such a reason."""
    if row["external"] and row["due"]:
        return tables.text(waiting_for_completion(row["due"]), "dim")
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


def _workers(live: Sequence[LiveWorker], running: Sequence[Job], now: datetime) -> list[Document]:
    """The live workers, and other workers that hold claims, each with the time at which its first lease ends."""
    ends: dict[str, list[datetime]] = {}
    for job in running:
        if job.worker is not None and job.leased_until is not None:
            ends.setdefault(job.worker, []).append(job.leased_until)
    first = {worker: (min(leases) - now).total_seconds() for worker, leases in ends.items()}
    listed = [
        {
            "worker": worker.id, "running": worker.busy, "lease_seconds": first.pop(worker.id, None), "live": True,
            **worker_document(worker),
        }
        for worker in live
    ]  # fmt: skip
    return listed + [
        {"worker": worker, "running": len(ends[worker]), "lease_seconds": left, "live": False}
        for worker, left in sorted(first.items())
    ]


def _worker_table(rows: Sequence[Document]) -> Sheet:
    made = Sheet("worker", "running", "lease ends", "state", numbers=("running", "lease ends"))
    for row in rows:
        left = row["lease_seconds"]
        ends = tables.text("") if left is None else tables.text(f"in {lasting(left)}")
        if left is not None and left < 0:
            ends = tables.text(f"{lasting(-left)} ago", "red")
        slots = f"{row['running']:,}/{row['concurrency']:,}" if row["live"] else f"{row['running']:,}"
        state = tables.text("gone", "red") if not row["live"] else tables.text("draining" if row["draining"] else "")
        made.add_row(tables.text(row["worker"]), slots, ends, state)
    return made


def _waiting_too_long(types: Mapping[str, TypeStats], served: frozenset[str], now: datetime) -> list[Finding]:
    """Jobs that wait although a live worker runs their type."""
    found: list[Finding] = []
    for name in sorted(served & types.keys()):
        row = types[name]
        oldest = to_moment(row.oldest_due)
        waited = 0.0 if oldest is None else (now - oldest).total_seconds()
        if waited > WAITED_TOO_LONG:
            detail = f"{row.due:,} due, the first for {lasting(waited)}: more arrive than the live workers run"
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
