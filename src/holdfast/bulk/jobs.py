"""The chain of a bulk action: each job changes one batch of members, and continues with the next."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from holdfast.bulk.batches import Batch
from holdfast.bulk.names import BATCH, BULK
from holdfast.bulk.records import BulkReport, BulkRequest, Tally
from holdfast.client.client import Client
from holdfast.codec.storable_values import HARD_LIMIT
from holdfast.core.retry import Retry
from holdfast.registry.jobs import Bound, Jobs
from holdfast.worker import Worker
from holdfast.worker.attempt import Attempt

_BATCHES: Final = 20
"""An action has about this many batches, of these sizes, so that its progress is visible."""
_SMALLEST: Final = 5
_LARGEST: Final = 100

_KEEP: Final = timedelta(days=1)
_RETRY: Final = Retry(initial=1, maximum=60, max_attempts=20)


@asynccontextmanager
async def _with_client(worker: Worker) -> AsyncGenerator[Client]:
    yield worker.client


bulk_jobs = Jobs(name="holdfast-bulk", lifespan=_with_client, payload_limit=HARD_LIMIT)
"""A worker whose registry includes this one continues the bulk actions of a dashboard that has stopped."""


@bulk_jobs.job(name=BULK, retry=_RETRY, keep=_KEEP)
async def bulk(attempt: Attempt, request: BulkRequest) -> BulkReport | Bound[BulkReport]:
    """The first batch."""
    return await _one_batch(attempt, request, Tally(request.total))


@bulk_jobs.job(name=BATCH, retry=_RETRY, keep=_KEEP)
async def bulk_batch(attempt: Attempt, tally: Tally) -> BulkReport | Bound[BulkReport]:
    """A later batch. The members are in the input of the chain's first job."""
    client: Client = attempt.state
    first = await client.get_job(attempt.job.chain_id)
    assert first is not None, "a chain has a first job"
    return await _one_batch(attempt, first.input["request"], tally)


async def _one_batch(attempt: Attempt, request: BulkRequest, tally: Tally) -> BulkReport | Bound[BulkReport]:
    client: Client = attempt.state
    size = min(max(request.total // _BATCHES, _SMALLEST), _LARGEST)
    members = request.batch(tally.position, size)
    batch = Batch(client.store, request, id=attempt.job.chain_id, again=attempt.job.attempt > 1)
    after = tally.plus(*await batch.change(members))
    if after.position >= after.total:
        return BulkReport(request.action, after.total, after.done, after.skipped, after.skips)
    return bulk_batch.bind(tally=after)
