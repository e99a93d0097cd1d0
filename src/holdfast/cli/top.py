"""`top`: a live view of the rates, the backlog, the workers and the most frequent errors."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import Document
from holdfast.cli.errors import error_document, error_line
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import write_json
from holdfast.cli.rates import counts_document, elapsed_minutes, number, seconds
from holdfast.cli.status import type_remark
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import iso, lasting, positive_duration
from holdfast.cli.workers import worker_document
from holdfast.client.client import Client
from holdfast.client.unserved import external_types, for_workers
from holdfast.core.counter_report import Counters
from holdfast.core.counters import Counts
from holdfast.core.job import moment
from holdfast.core.record import Status
from holdfast.engine.operations import TypeStats

RATES_OVER = timedelta(minutes=5)
ERRORS_OVER = timedelta(hours=1)
MOST_ERRORS = 5
MOST_WORKERS = 10


@command
def top(
    run: Invocation,
    interval: Annotated[str, typer.Option(metavar="DURATION", help="How often to refresh.")] = "2s",
    once: Annotated[bool, typer.Option("--once", help="Show it once, and end.")] = False,
) -> None:
    """Show rates, running and due jobs, failures and workers, and refresh until Ctrl-C."""
    pause = max(positive_duration(interval, "--interval"), 0.1)
    if once:
        document = run.attend(partial(look, declared_only=run.declared_only))
        run.answer(document, frame(document))
    else:
        run.attend(partial(_watch, run, pause=pause))


async def _watch(run: Invocation, client: Client, *, pause: float) -> None:
    """Refresh until cancelled. The view follows the size of the terminal."""
    on_screen = run.out.is_terminal and not run.json
    declared_only = run.declared_only
    with Live(console=run.out, auto_refresh=False, screen=True) if on_screen else nullcontext() as live:
        while True:
            document = await look(client, declared_only=declared_only)
            if live is not None:
                live.update(frame(document, lines=run.out.height), refresh=True)
            elif run.json:
                run.write(write_json(document))
            else:
                run.out.print(frame(document))
            await asyncio.sleep(pause)


async def look(client: Client, *, declared_only: Collection[str] = ()) -> Document:
    """What the view shows, as a document. Rates are those of the last five minutes, errors those of the last hour.

    As in `status`, jobs of types without a handler do not count as due: those in `declared_only`, and those that live
    workers declare without one.
    """
    now = datetime.now(UTC)
    stats = await client.stats()
    counters = await client.counters(now - RATES_OVER)
    errors = await client.errors(now - ERRORS_OVER, limit=MOST_ERRORS)
    workers = await client.workers()
    names = sorted(stats.types.keys() | counters.types.keys())
    external = external_types(workers, declared_only)
    waiting = for_workers(stats.types, external)
    oldest = [row.oldest_due for row in waiting.values() if row.oldest_due is not None]
    return {
        "store": client.store.name,
        "at": iso(now),
        "running": stats.counts[Status.RUNNING],
        "due": sum(row.due for row in waiting.values()),
        "oldest_due_seconds": _age(min(oldest, default=None), now),
        "all": counts_document(counters.counts, elapsed_minutes(counters)),
        "types": [
            {**_type_document(name, stats.types.get(name), counters, now), "external": name in external}
            for name in names
        ],
        "errors": [{**error_document(each), "line": error_line(each)} for each in errors],
        "workers": [worker_document(worker) for worker in workers],
    }


def frame(document: Document, *, lines: int | None = None) -> RenderableType:
    """The document as text. With `lines`, types without activity are left out if there is no room for them."""
    rate = document["all"]["per_minute"]
    heading = Text.assemble(
        tables.text(document["store"], "bold"),
        f"  {document['running']:,} running  {document['due']:,} due",
        "" if document["oldest_due_seconds"] is None else f", the oldest for {lasting(document['oldest_due_seconds'])}",
        f"  {rate['completed']:,g} completed, {rate['failed']:,g} failed per minute",
        f"  {tables.some(len(document['workers']), 'worker')}",
    )
    parts: list[RenderableType] = [heading, ""]
    types = _shown_types(document, lines)
    parts.append(_types(types) if types else tables.text("no jobs", "dim"))
    if document["errors"]:
        parts += ["", _errors(document["errors"])]
    if document["workers"]:
        parts += ["", _workers(document["workers"])]
    return Group(*parts)


def _shown_types(document: Document, lines: int | None) -> list[Document]:
    types: list[Document] = document["types"]
    rest = 10 + len(document["errors"]) + min(MOST_WORKERS, len(document["workers"]))
    if lines is None or len(types) + rest <= lines:
        return types
    busiest = sorted(
        types, key=lambda row: (-row["per_minute"]["completed"] - row["due"] - row["running"], row["type"])
    )
    return busiest[: max(3, lines - rest)]


def _types(types: list[Document]) -> Sheet:
    columns = ("running", "due", "oldest due", "started/min", "completed/min", "failed/min", "retried/min", "run p95")
    made = Sheet("type", *columns, "", numbers=columns)
    for row in types:
        rate = row["per_minute"]
        due, oldest = (0, None) if row["external"] else (row["due"], row["oldest_due_seconds"])
        made.add_row(
            tables.text(row["type"]), number(row["running"], "cyan"), number(due, "yellow"),
            seconds(oldest), number(rate["started"]), number(rate["completed"], "green"),
            number(rate["failed"], "red"), number(rate["retried"], "yellow"), seconds(row["run"]["p95"]),
            type_remark(row),
        )  # fmt: skip
    return made


def _errors(errors: list[Document]) -> Sheet:
    made = Sheet("failures", "type", "error", "fingerprint", numbers=("failures",))
    for row in errors:
        made.add_row(
            number(row["count"]), tables.text(row["type"]), tables.text(row["line"], "red"),
            tables.text(row["fingerprint"]),
        )  # fmt: skip
    return made


def _workers(workers: list[Document]) -> Sheet:
    made = Sheet("worker", "busy", "host", "", numbers=("busy",))
    for row in workers[:MOST_WORKERS]:
        state = "draining" if row["draining"] else ""
        busy = f"{row['busy']}/{row['concurrency']}"
        made.add_row(tables.text(row["id"]), busy, tables.text(row["host"]), tables.text(state, "yellow"))
    if len(workers) > MOST_WORKERS:
        made.add_row(tables.text(f"and {len(workers) - MOST_WORKERS:,} more", "dim"))
    return made


def _type_document(name: str, row: TypeStats | None, counters: Counters, now: datetime) -> dict[str, Any]:
    counted = counters.types.get(name)
    return {
        "type": name,
        "running": 0 if row is None else row.counts.get(Status.RUNNING, 0),
        "due": 0 if row is None else row.due,
        "oldest_due_seconds": None if row is None else _age(row.oldest_due, now),
        "paused": row is not None and row.paused,
        **counts_document(Counts() if counted is None else counted.counts, elapsed_minutes(counters)),
    }


def _age(micros: int | None, now: datetime) -> float | None:
    at = moment(micros)
    return None if at is None else max(0.0, (now - at).total_seconds())
