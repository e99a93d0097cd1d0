"""Jobs and chains as JSON documents. Payloads are left out unless asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from holdfast.cli.times import iso
from holdfast.codec.codec import plain
from holdfast.codec.masking import masked
from holdfast.core.failure import ErrorText
from holdfast.core.job import AttemptReport, Chain, Job
from holdfast.core.record import Status
from holdfast.core.step_report import Step
from holdfast.errors import PayloadRefused

Document = dict[str, Any]


def chain_document(chain: Chain[Any]) -> Document:
    """A chain, with its current job's place and attempt."""
    job = chain.job
    return {
        "id": chain.id,
        "type": chain.type,
        "status": str(chain.status),
        "scheduled": is_scheduled(job),
        "key": chain.key,
        "created_at": iso(chain.created_at),
        "scheduled_at": iso(chain.scheduled_at),
        "finished_at": iso(chain.finished_at),
        "error": error_text(chain.error),
        "job": {"id": job.id, "type": job.type, "index": job.index, "attempt": job.attempt, "worker": job.worker},
    }


def job_document(job: Job) -> Document:
    """A job, all but its payloads."""
    return {
        "id": job.id,
        "type": job.type,
        "chain_id": job.chain_id,
        "index": job.index,
        "status": str(job.status),
        "scheduled": is_scheduled(job),
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "priority": job.priority,
        "key": job.key,
        "worker": job.worker,
        "progress": job.progress,
        "progress_note": job.progress_note,
        "created_at": iso(job.created_at),
        "scheduled_at": iso(job.scheduled_at),
        "started_at": iso(job.started_at),
        "finished_at": iso(job.finished_at),
        "leased_until": iso(job.leased_until),
        "open_blockers": job.open_blockers,
        "origin": job.origin,
        "error": error_text(job.error),
    }


def is_scheduled(job: Job, *, now: datetime | None = None) -> bool:
    """Whether a job is pending, and is due later or waits for a message. Such a job is shown as scheduled."""
    due = job.scheduled_at
    return job.status is Status.PENDING and (due is None or due > (now or datetime.now(UTC)))


def payload_document(job: Job, *, secrets: bool) -> Document:
    """The input of a job, and its output if it has one. An output may be null."""
    record = job.record
    found = {"input": payload(record.input, secrets=secrets)}
    return found if record.output is None else {**found, "output": payload(record.output, secrets=secrets)}


def status_document(status: Status) -> Document:
    """The new status of a chain, for its entry in the answer of a command."""
    return {"status": str(status)}


def blocker_document(chain: Chain[Any]) -> Document:
    return {"id": chain.id, "type": chain.type, "status": str(chain.status)}


def attempt_document(attempt: AttemptReport) -> Document:
    """One attempt, with the whole traceback."""
    document: Document = {
        "number": attempt.number,
        "worker": attempt.worker,
        "started_at": iso(attempt.started_at),
        "ended_at": iso(attempt.ended_at),
        "outcome": attempt.outcome,
        "error": error_text(attempt.error),
        "next_at": iso(attempt.next_at),
    }
    if attempt.error is not None:
        document["traceback"] = attempt.error.traceback
    if attempt.log is not None:
        document["log"] = attempt.log
    return document


def step_document(step: Step) -> Document:
    """One step, without its result."""
    return {
        "name": step.name,
        "each": step.each,
        "kind": step.kind,
        "attempt": step.attempt,
        "started_at": iso(step.started_at),
        "finished_at": iso(step.finished_at),
        "error": error_text(step.error),
    }


def step_payload(step: Step, *, secrets: bool) -> Document:
    """The result of a step."""
    return {"result": step.result if secrets else masked(step.result)}


def error_text(error: ErrorText | None) -> str | None:
    return None if error is None else str(error)


def payload(stored: bytes | None, *, secrets: bool) -> Any:
    """A stored payload as plain JSON values. Values under the names of secrets are masked, unless `secrets` is set."""
    if stored is None:
        return None
    try:
        value = plain(stored)
    except PayloadRefused:
        # A codec of the application wrote it, for example one that encrypts.
        return f"({len(stored)} bytes that are not JSON)"
    return value if secrets else masked(value)
