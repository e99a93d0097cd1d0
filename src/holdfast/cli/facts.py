"""The facts of one chain or job, as a table of names and values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from holdfast.cli import tables
from holdfast.cli.times import relative
from holdfast.core.explanation import NAMED_MESSAGES, Explanation
from holdfast.core.job import Chain, Job

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a chain or of a job.")]


def chain_facts(chain: Chain[Any], explanation: Explanation | None = None) -> RenderableType:
    """What is known of a chain. The explanation is that of its current job."""
    now = datetime.now(UTC)
    return tables.facts(
        [
            ("chain", chain.id),
            ("type", chain.type),
            ("status", tables.status(chain.job, now)),
            ("paused", "yes" if is_paused(explanation) else None),
            ("progress", _progress(chain.job)),
            ("key", chain.key),
            ("created", relative(chain.created_at, now)),
            *_due(chain.job, explanation, now),
            ("finished", relative(chain.finished_at, now) if chain.finished_at else None),
            ("error", None if chain.error is None else tables.text(chain.error, "red")),
        ]
    )


def job_facts(job: Job, explanation: Explanation | None = None) -> RenderableType:
    """What is known of a job."""
    now = datetime.now(UTC)
    attempts = f"{job.attempt} of {job.max_attempts}" if job.max_attempts else str(job.attempt)
    return tables.facts(
        [
            ("job", job.id),
            ("chain", job.chain_id),
            ("type", job.type),
            ("position", str(job.index + 1)),
            ("status", tables.status(job, now)),
            ("paused", "yes" if is_paused(explanation) else None),
            ("attempt", attempts),
            ("worker", job.worker),
            ("progress", _progress(job)),
            ("created", relative(job.created_at, now)),
            *_due(job, explanation, now),
            ("lease ends", relative(job.leased_until, now) if job.leased_until else None),
            ("finished", relative(job.finished_at, now) if job.finished_at else None),
            ("error", None if job.error is None else tables.text(job.error, "red")),
        ]
    )


def is_paused(explanation: Explanation | None) -> bool:
    """Whether no worker may claim the job, because its type is paused."""
    return explanation is not None and any(reason.kind == "paused" for reason in explanation.reasons)


def awaited(names: Sequence[str]) -> str:
    """Names the messages that a job waits for."""
    named = ", ".join(names[:NAMED_MESSAGES]) + (", ..." if names[NAMED_MESSAGES:] else "")
    return f"the message {named}" if len(names) == 1 else f"one of the messages {named}"


def _due(job: Job, explanation: Explanation | None, now: datetime) -> list[tuple[str, str | None]]:
    """When the job is due, or which message it waits for, and until when."""
    if job.finished_at is not None:
        return []
    if explanation is not None and explanation.messages:
        until = explanation.message_timeout
        return [("waits for", awaited(explanation.messages)), ("timeout", relative(until, now) if until else "none")]
    return [("due", relative(job.scheduled_at, now) if job.scheduled_at else "when a message arrives")]


def _progress(job: Job) -> str | None:
    if job.progress is None:
        return None
    return f"{job.progress:.0%}" + (f" {job.progress_note}" if job.progress_note else "")
