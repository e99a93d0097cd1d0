"""`show` and `report`: all about one chain or job."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import (
    Document,
    attempt_document,
    blocker_document,
    chain_document,
    job_document,
    payload_document,
)
from holdfast.cli.invocation import Invocation
from holdfast.cli.printable import write_json
from holdfast.cli.reports import jobs_of, reports_of
from holdfast.cli.table_layout import Sheet
from holdfast.cli.times import relative
from holdfast.client.sync_client import SyncClient
from holdfast.core.job import Chain, Job, Report
from holdfast.engine.operations import GetBlockers
from holdfast.errors import JobNotFound

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a chain or of a job.")]


@command
def show(
    run: Invocation,
    id: Id,
    payload: Annotated[
        bool, typer.Option("--payload", help="Show input and output too, secrets masked by name.")
    ] = False,
    secrets: Annotated[bool, typer.Option("--secrets", help="With --payload: mask nothing.")] = False,
) -> None:
    """Show a chain with its jobs and their blockers, or one job."""
    with run.client() as client:
        chain = client.get(id)
        job = None if chain is not None else client.get_job(id)
        if chain is None and job is None:
            raise JobNotFound(id)
        found = [job] if job is not None else jobs_of(client, id)
        blockers = {each.id: _blockers(client, each) for each in found if each.record.blockers}
    documents = [
        {
            **job_document(each),
            "blockers": [blocker_document(blocker) for blocker in blockers.get(each.id, ())],
            **(payload_document(each, secrets=secrets) if payload else {}),
        }
        for each in found
    ]
    details = Group(
        *(part for each, document in zip(found, documents, strict=True) for part in _details(each, document))
    )
    if chain is not None:
        document = {"kind": "chain", **chain_document(chain), "jobs": documents}
        run.answer(document, _chain_facts(chain), "", tables.jobs(found), details)
    else:
        run.answer({"kind": "job", **documents[0]}, _job_facts(found[0]), details)


@command
def report(run: Invocation, id: Id) -> None:
    """Show every attempt: worker, times, outcome, error. A chain's id stands for all of its jobs."""
    with run.client() as client:
        found = reports_of(client, id)
    documents = [
        {"job": job_document(each.job), "attempts": [attempt_document(attempt) for attempt in each.attempts]}
        for each in found
    ]
    shown = [part for number, each in enumerate(found) for part in (*([""] if number else []), *_report(each))]
    # The last job is the chain's current one.
    run.answer({**documents[-1], "jobs": documents}, *shown)


def _report(found: Report) -> list[RenderableType]:
    traces = [
        part
        for each in found.attempts
        if each.error is not None and each.error.traceback
        for part in ("", tables.text(f"attempt {each.number}", "bold"), tables.lines(each.error.traceback.rstrip()))
    ]
    table = tables.attempts(found.attempts) if found.attempts else tables.text("no attempt yet", "dim")
    return [_job_facts(found.job), "", table, *traces]


def _blockers(client: SyncClient, job: Job) -> list[Chain[Any]]:
    return [Chain(record, client.jobs) for record in client.store.perform_sync(GetBlockers(job.id))]


def _chain_facts(chain: Chain[Any]) -> RenderableType:
    now = datetime.now(UTC)
    return tables.facts(
        [
            ("chain", chain.id),
            ("type", chain.type),
            ("status", tables.status(chain.job, now)),
            ("key", chain.key),
            ("created", relative(chain.created_at, now)),
            ("due", relative(chain.scheduled_at, now) if chain.finished_at is None else None),
            ("finished", relative(chain.finished_at, now) if chain.finished_at else None),
            ("error", None if chain.error is None else tables.text(chain.error, "red")),
        ]
    )


def _job_facts(job: Job) -> RenderableType:
    now = datetime.now(UTC)
    attempts = f"{job.attempt} of {job.max_attempts}" if job.max_attempts else str(job.attempt)
    return tables.facts(
        [
            ("job", job.id),
            ("chain", job.chain_id),
            ("type", job.type),
            ("step", str(job.index + 1)),
            ("status", tables.status(job, now)),
            ("attempt", attempts),
            ("worker", job.worker),
            ("progress", _progress(job)),
            ("created", relative(job.created_at, now)),
            ("due", relative(job.scheduled_at, now) if job.finished_at is None else None),
            ("lease ends", relative(job.leased_until, now) if job.leased_until else None),
            ("finished", relative(job.finished_at, now) if job.finished_at else None),
            ("error", None if job.error is None else tables.text(job.error, "red")),
        ]
    )


def _progress(job: Job) -> str | None:
    if job.progress is None:
        return None
    return f"{job.progress:.0%}" + (f" {job.progress_note}" if job.progress_note else "")


def _details(job: Job, document: Document) -> list[RenderableType]:
    """What a table has no room for: blockers, input and output."""
    shown: list[RenderableType] = []
    if document["blockers"]:
        shown += ["", tables.text(f"blockers of {job.type} {job.id}", "bold")]
        table = Sheet("type", "status", "id")
        for blocker in document["blockers"]:
            table.add_row(tables.text(blocker["type"]), tables.word(blocker["status"]), tables.text(blocker["id"]))
        shown.append(table)
    for name in ("input", "output"):
        if name in document:
            shown += ["", tables.text(f"{name} of {job.type} {job.id}", "bold")]
            shown.append(tables.lines(write_json(document[name], indent=2)))
    return shown
