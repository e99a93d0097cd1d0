"""A day of history: finished jobs of all types, with failures in groups, retries, continuations and keys."""

from __future__ import annotations

import time

from benchmarks.dashboard.shop import TYPES
from holdfast.core import failure
from holdfast.core.clock import SECOND
from holdfast.core.error_groups import classify
from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.engine.store import Store
from holdfast.testing import ManualClock
from holdfast.testing.builders import cancelled, completed, continued, new_job, next_job

JOBS = 10_000
_STEPS = 288
_TERMS = tuple(TypeTerms(name, 3600 * SECOND, 3) for name in TYPES)


async def write_history(store: Store) -> None:
    """About 10,000 finished jobs, started every five minutes of the last day."""
    clock = ManualClock(int((time.time() - 86400) * SECOND))
    store.clock = clock
    number = 0
    for _ in range(_STEPS):
        batch = JOBS // _STEPS + 1
        await store.perform(Start(tuple(_new(number + each) for each in range(batch))))
        number += batch
        clock.advance(2)
        while claimed := await store.perform(ClaimJobs(_TERMS, 100, "worker-1", new_token())):
            await store.perform(Settle(tuple(_settled(job) for job in claimed)))
        clock.advance(300 - 2)
    store.clock = None


def _new(number: int) -> NewJob:
    type = TYPES[-1] if number % 1000 == 0 else TYPES[number % (len(TYPES) - 1)]
    key = f"order-{number}" if number % 5 == 0 else None
    return new_job(type, input=b'{"number": %d}' % number, key=key)


def _settled(job: Record) -> Settlement:
    """Of a hundred jobs two fail, one is cancelled, five are retried once, and ten have a continuation."""
    share = job.seq % 100
    if share < 2:
        return _failed(job, Status.FAILED)
    if share == 2 and not job.index:
        return cancelled(job)
    if share < 8 and job.attempt == 1:
        return _failed(job, Status.PENDING)
    if share < 18 and not job.index:
        return continued(job, next_job(job, TYPES[job.seq % (len(TYPES) - 1)]))
    return completed(job, b'{"parcel": %d}' % job.seq)


def _failed(job: Record, status: Status) -> Settlement:
    error = failure.write("TimeoutError", f"host-{job.seq % 40}.example.org did not answer", "Traceback ...")
    return Settlement(job.claim, status, "failed", error=error, failure=classify(job.type, error))
