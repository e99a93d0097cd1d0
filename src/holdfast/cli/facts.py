"""The facts of one chain or job, as a table of names and values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from holdfast.cli import tables
from holdfast.cli.times import relative
from holdfast.core.job import Chain, Job

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a chain or of a job.")]


def chain_facts(chain: Chain[Any], *, paused: bool = False) -> RenderableType:
    """What is known of a chain. `paused`: no worker may claim its current job."""
    now = datetime.now(UTC)
    return tables.facts(
        [
            ("chain", chain.id),
            ("type", chain.type),
            ("status", tables.status(chain.job, now)),
            ("paused", _paused(paused)),
            ("progress", _progress(chain.job)),
            ("key", chain.key),
            ("created", relative(chain.created_at, now)),
            ("due", relative(chain.scheduled_at, now) if chain.finished_at is None else None),
            ("finished", relative(chain.finished_at, now) if chain.finished_at else None),
            ("error", None if chain.error is None else tables.text(chain.error, "red")),
        ]
    )


def job_facts(job: Job, *, paused: bool = False) -> RenderableType:
    """What is known of a job. `paused`: no worker may claim it."""
    now = datetime.now(UTC)
    attempts = f"{job.attempt} of {job.max_attempts}" if job.max_attempts else str(job.attempt)
    return tables.facts(
        [
            ("job", job.id),
            ("chain", job.chain_id),
            ("type", job.type),
            ("position", str(job.index + 1)),
            ("status", tables.status(job, now)),
            ("paused", _paused(paused)),
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


def _paused(paused: bool) -> str | None:
    return "yes" if paused else None


def _progress(job: Job) -> str | None:
    if job.progress is None:
        return None
    return f"{job.progress:.0%}" + (f" {job.progress_note}" if job.progress_note else "")
