"""Short forms of lists for cases: the ids that a filter shows, newest first."""

from __future__ import annotations

from holdfast.engine.operations import Filter, ListChains, ListJobs
from holdfast.testing.conformance.harness import Harness


async def listed_jobs(harness: Harness, wanted: Filter) -> list[str]:
    """The ids of the jobs that a filter shows."""
    return [job.id for job in await harness.perform(ListJobs(wanted, limit=100))]


async def listed_chains(harness: Harness, wanted: Filter) -> list[str]:
    """The ids of the chains that a filter shows."""
    return [chain.first.id for chain in await harness.perform(ListChains(wanted, limit=100))]
