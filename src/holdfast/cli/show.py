"""`show`: one chain with its jobs, or one job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import (
    Document,
    blocker_document,
    chain_document,
    job_document,
    payload_document,
    step_document,
    step_payload,
)
from holdfast.cli.explain import explanation_document, explanation_lines
from holdfast.cli.facts import Id, chain_facts, is_paused, job_facts
from holdfast.cli.invocation import Invocation
from holdfast.cli.job_reports import jobs_of
from holdfast.cli.printable import write_json
from holdfast.cli.table_layout import Sheet
from holdfast.client.sync_client import SyncClient
from holdfast.core.job import Chain, Job
from holdfast.core.step_report import Step
from holdfast.engine.operations import GetBlockers
from holdfast.errors import JobNotFound

MOST_STARTED = 100


@command
def show(
    run: Invocation,
    id: Id,
    payload: Annotated[
        bool, typer.Option("--payload", help="Show input and output too, secrets masked by name.")
    ] = False,
    secrets: Annotated[bool, typer.Option("--secrets", help="With --payload: mask nothing.")] = False,
) -> None:
    """Show a chain with its jobs, their blockers and the chains that they started, or one job, and its explanation."""
    with run.client() as client:
        chain = client.get(id)
        job = None if chain is not None else client.get_job(id)
        if chain is None and job is None:
            raise JobNotFound(id)
        found = [job] if job is not None else jobs_of(client, id)
        blockers = {each.id: _blockers(client, each) for each in found if each.record.blockers}
        explanation = client.explain(found[-1])
        steps = {each.id: client.steps(each) for each in found}
        started = client.started(*found, limit=MOST_STARTED)
    documents = [
        {
            **job_document(each),
            "blockers": [blocker_document(blocker) for blocker in blockers.get(each.id, ())],
            "started": [blocker_document(side) for side in started if side.first_job.origin == each.id],
            "steps": [_step(step, payload=payload, secrets=secrets) for step in steps[each.id]],
            **(payload_document(each, secrets=secrets) if payload else {}),
        }
        for each in found
    ]
    details = Group(*(_details(*each) for each in zip(found, documents, steps.values(), strict=True)))
    if chain is not None:
        document: Document = {"kind": "chain", **chain_document(chain), "jobs": documents}
        shown: list[RenderableType] = [chain_facts(chain, explanation), "", tables.jobs(found), details]
    else:
        document, shown = {"kind": "job", **documents[0]}, [job_facts(found[0], explanation), details]
    document["paused"] = is_paused(explanation)
    if explanation is not None:  # None if the job was deleted meanwhile
        document["explanation"] = explanation_document(explanation)
        shown += ["", *explanation_lines(explanation)]
    run.answer(document, *shown)


def _blockers(client: SyncClient, job: Job) -> list[Chain[Any]]:
    [blockers] = client.store.perform_sync(GetBlockers((job.id,)))
    return [Chain(record, client.jobs) for record in blockers]


def _step(step: Step, *, payload: bool, secrets: bool) -> Document:
    return {**step_document(step), **(step_payload(step, secrets=secrets) if payload else {})}


def _details(job: Job, document: Document, steps: Sequence[Step]) -> Group:
    """What a table has no room for: blockers, started chains, steps, input and output."""
    shown: list[RenderableType] = []
    for title, chains in (("blockers of", document["blockers"]), ("chains started by", document["started"])):
        if chains:
            shown += ["", tables.text(f"{title} {job.type} {job.id}", "bold")]
            table = Sheet("type", "status", "id")
            for each in chains:
                table.add_row(tables.text(each["type"]), tables.styled(each["status"]), tables.text(each["id"]))
            shown.append(table)
    if steps:
        shown += ["", tables.text(f"steps of {job.type} {job.id}", "bold"), tables.steps(steps)]
        results = [(step["name"], step["result"]) for step in document["steps"] if step.get("result") is not None]
        for name, result in results:
            shown += [tables.text(f"result of {name}", "bold"), tables.lines(write_json(result, indent=2))]
    for name in ("input", "output"):
        if name in document:
            shown += ["", tables.text(f"{name} of {job.type} {job.id}", "bold")]
            shown.append(tables.lines(write_json(document[name], indent=2)))
    return Group(*shown)
