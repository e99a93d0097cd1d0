"""`report`: every attempt of a job."""

from __future__ import annotations

from rich.console import RenderableType

from holdfast.cli import tables
from holdfast.cli.command import command
from holdfast.cli.documents import (
    attempt_document,
    job_document,
    step_document,
)
from holdfast.cli.facts import Id, job_facts
from holdfast.cli.invocation import Invocation
from holdfast.cli.job_reports import reports_of
from holdfast.core.job import Report


@command
def report(run: Invocation, id: Id) -> None:
    """Show every attempt: worker, times, outcome, error, stored log; and the finished steps.

    A chain's id stands for all of its jobs.
    """
    with run.client() as client:
        found = reports_of(client, id)
    documents = [
        {
            "job": job_document(each.job),
            "attempts": [attempt_document(attempt) for attempt in each.attempts],
            "steps": [step_document(step) for step in each.steps],
        }
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
    logs = [
        part
        for each in found.attempts
        if each.log
        for part in ("", tables.text(f"log of attempt {each.number}", "bold"), tables.lines(each.log.rstrip()))
    ]
    table = tables.attempts(found.attempts) if found.attempts else tables.text("no attempt yet", "dim")
    steps: list[RenderableType] = ["", tables.text("steps", "bold"), tables.steps(found.steps)] if found.steps else []
    return [job_facts(found.job), "", table, *steps, *traces, *logs]
