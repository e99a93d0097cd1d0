"""The jobs of a chain, and their reports."""

from __future__ import annotations

from holdfast.client.sync_client import SyncClient
from holdfast.core.job import Job, Report
from holdfast.errors import JobNotFound


def jobs_of(client: SyncClient, chain_id: str) -> list[Job]:
    """A chain's jobs, first to last."""
    found: list[Job] = []
    cursor: str | None = None
    while True:
        page = client.list_jobs(chain=chain_id, limit=1000, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found[::-1]


def reports_of(client: SyncClient, id: str) -> list[Report]:
    """The reports of every job of a chain, first to last, or the report of one job: at least one.

    The id of a chain is also the id of its first job; here it means the chain. Deleted jobs are left out.
    """
    jobs = [id] if client.get(id) is None else [job.id for job in jobs_of(client, id)]
    found = [report for report in map(client.report, jobs) if report is not None]
    if not found:
        raise JobNotFound(id)
    return found
