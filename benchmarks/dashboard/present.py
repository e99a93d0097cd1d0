"""What waits and runs now, and the chains whose pages are measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from msgspec.structs import replace

from benchmarks.dashboard.shop import TYPES, approve, join, render
from holdfast import Client, Queue
from holdfast.core.clock import SECOND
from holdfast.core.details import started_details, write_details
from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import ClaimJobs, ReportWorker, Settle, Start, TypeTerms
from holdfast.testing.builders import completed, continued, new_job, next_job

WIDE = 300
"""Chains or jobs in each of the graphs."""
RUNNING, DUE, SCHEDULED, QUEUED = 300, 5000, 10_000, 2000


@dataclass(frozen=True, slots=True)
class Present:
    """Ids for the pages of single chains."""

    blocked: str
    started: str
    long: str
    laned: str
    due: str


async def write_present(client: Client) -> Present:
    """Jobs of every status that has not ended, limits, schedules, workers and a queue."""
    blockers = await client.start_many([approve.bind(order=number) for number in range(WIDE)])
    blocked = await client.start(join.bind(number=0), after=blockers)
    await client.start_many([join.bind(number=each).options(after=[blockers[each % 10]]) for each in range(2000)])
    await client.start_many([render.bind(customer=each % 1000) for each in range(DUE)])
    laned = await client.start(render.bind(customer=7))
    started, long = await _started(client), await _long(client)
    await _queue(client)
    for number in range(50):
        await client.schedule(f"schedule-{number}", approve.bind(order=number), every=timedelta(hours=1 + number))
    for number in range(20):
        await client.store.perform(ReportWorker(WorkerRecord(f"worker-{number}", "host", number, TYPES, 20)))
    await client.store.perform(Start(tuple(new_job(TYPES[number % 19]) for number in range(RUNNING))))
    for worker in range(RUNNING // 20):
        terms = tuple(TypeTerms(name, 86400 * SECOND, 3) for name in TYPES)
        await client.store.perform(ClaimJobs(terms, 20, f"worker-{worker}", new_token()))
    later = (new_job(TYPES[number % 19], delay=86400 + number) for number in range(SCHEDULED))
    await client.store.perform(Start(tuple(later)))
    due = [new_job(TYPES[number % 19]) for number in range(DUE)]
    await client.store.perform(Start(tuple(due)))
    return Present(blocked.id, started, long, laned.id, due[0].id)


async def _started(client: Client) -> str:
    """A job that started many chains."""
    job = await _claimed(client)
    details = write_details(started_details(job.id, None))
    starts = tuple(replace(new_job("side"), details=details) for _ in range(WIDE))
    await client.store.perform(Settle((completed(job, starts=starts),)))
    return job.id


async def _long(client: Client) -> str:
    """A chain of many jobs."""
    job = first = await _claimed(client)
    for _ in range(WIDE):
        await client.store.perform(Settle((continued(job, next_job(job, "long")),)))
        (job,) = await client.store.perform(_claim("long"))
    return first.id


async def _claimed(client: Client) -> Record:
    await client.store.perform(Start((new_job("alone"),)))
    (job,) = await client.store.perform(_claim("alone"))
    return job


def _claim(type: str) -> ClaimJobs:
    return ClaimJobs((TypeTerms(type, 86400 * SECOND, 3),), 1, "worker-0", new_token())


async def _queue(client: Client) -> None:
    async with Queue[dict[str, int], None]("thumbnails", store=client.store) as queue:
        await queue.enqueue_many([(f"image-{number}", {"width": number}) for number in range(QUEUED)])
