"""Reads the jobs of a named queue: one, a page of them, or how many are in each state."""

from __future__ import annotations

from typing import Any, get_args

from holdfast.client.listing import page
from holdfast.core.clock import Micros, to_datetime
from holdfast.core.failure import read_error
from holdfast.core.job import Page
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Filter, GetHistory, GetStats, Listing, ListJobs, TypeStats
from holdfast.engine.procedures import Procedure
from holdfast.queue.answers import STATUSES, JobStatus, QueueCounts, State, state_of
from holdfast.queue.queue_type import QueueType

_STATES: tuple[State, ...] = get_args(State)
_PAGE = 1000


def status(type: QueueType, job: Record) -> Procedure[JobStatus[Any] | None]:
    """The status of a job; None for a cancelled one."""
    if (state := state_of(job)) is None:
        return None
    changed = yield from _changed(job)
    return JobStatus(
        job.key or job.id,
        state,
        attempts=job.attempt,
        max_attempts=job.max_attempts or None,
        created_at=to_datetime(job.created_at),
        changed_at=to_datetime(changed),
        payload=type.payload_of(job),
        result=result(type, job),
        error=read_error(job.error),
    )


def result(type: QueueType, job: Record) -> Any:
    """The result of a completed job; None in every other case."""
    if job.status is not Status.COMPLETED or job.output is None:
        return None
    return type.decode_output(job.output)


def list_jobs(
    type: QueueType, state: State | None, cursor: str | None, limit: int, *, sharded: bool
) -> Procedure[Page[JobStatus[Any]]]:
    """Jobs of the queue, newest first, in one state or in any."""
    if state is not None and state not in STATUSES:
        raise ValueError(f"{state!r} is no state; the states are {', '.join(_STATES)}")
    wanted: list[State] = list(_STATES) if state is None else [state]
    statuses = tuple(dict.fromkeys(status for each in wanted for status in STATUSES[each]))
    failing = state == "failing" if state in ("queued", "failing") else None
    filter = Filter(types=(type.name,), statuses=statuses, failing=failing, kept=True)
    chains: Page[ChainRecord] = yield from page(filter, cursor, limit, sharded=sharded)
    items: list[JobStatus[Any]] = []
    for chain in chains.items:
        item = yield from status(type, chain.last)
        if item is not None:
            items.append(item)
    return Page(items, chains.next_cursor)


def counts(type: QueueType) -> Procedure[QueueCounts]:
    """How many jobs are in each state. The failing ones are counted by a read of their own."""
    rows: list[TypeStats] = yield GetStats()
    found = next((row for row in rows if row.type == type.name), TypeStats(type.name, {}, 0, 0, None, False))
    pending = found.counts.get(Status.PENDING, 0)
    failing = 0
    if pending:
        failing = min(pending, (yield from _failing(type.name)))
    return QueueCounts(
        queued=found.counts.get(Status.BLOCKED, 0) + pending - failing,
        processing=found.counts.get(Status.RUNNING, 0),
        failing=failing,
        completed=found.counts.get(Status.COMPLETED, 0),
        failed=found.counts.get(Status.FAILED, 0),
        scheduled=found.scheduled,
        paused=found.paused,
    )


def _failing(type: str) -> Procedure[int]:
    number = 0
    before: int | None = None
    while True:
        jobs: Listing[Record] = yield ListJobs(Filter(types=(type,), failing=True), _PAGE, before)
        number += len(jobs)
        before = jobs.next_before
        if before is None:
            return number


def _changed(job: Record) -> Procedure[Micros]:
    """When the job entered its state. For a job that waits again after an attempt only its history has the time."""
    if job.finished_at is not None:
        return job.finished_at
    if job.started_at is None:
        return job.created_at
    if job.status is Status.RUNNING:
        return job.started_at
    history = yield GetHistory(job.id)
    return history[1][-1].ended_at if history and history[1] else job.started_at
