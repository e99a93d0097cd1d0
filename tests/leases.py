"""Ends the leases of workers that are gone. A test that waits for short leases fails where machines are slow."""

from __future__ import annotations

from holdfast import Status, Store
from holdfast.engine.operations import Filter, GetJobs, ListJobs, Renew


def expire_leases(store: Store) -> None:
    """End the leases of all running jobs, as time would."""
    running = store.perform_sync(ListJobs(Filter(statuses=(Status.RUNNING,)), 1000))
    records = store.perform_sync(GetJobs(tuple(job.id for job in running)))
    claims = tuple((record.claim, 1) for record in records if record is not None)
    assert claims
    assert store.perform_sync(Renew(claims)) == {}
