"""How the chain of an attempt ended."""

from __future__ import annotations

from typing import Any

from tests.conformance.client.harness import ClientHarness


async def end(harness: ClientHarness, body: Any, number: int = 0) -> Any:
    """Run one attempt with this body and return the job."""
    job_type = harness.jobs.get(body.__name__) or harness.job(body)
    chain = await harness.client.start(job_type.bind(number), max_attempts=1)
    await harness.drain()
    return await harness.client.get_job(chain.id)


async def sides(harness: ClientHarness) -> list[Any]:
    return list((await harness.client.list_chains(type="value")).items)
