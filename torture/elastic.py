"""The one job type that supervised processes run."""

from __future__ import annotations

import asyncio

from holdfast import Jobs, Retry

jobs = Jobs()


@jobs.job(retry=Retry(initial=0.05, multiplier=2, maximum=0.5, jitter=0.2, max_attempts=12))
async def elastic(seconds: float) -> str:
    """Started in bursts, so that the supervisor scales up and down."""
    await asyncio.sleep(seconds)
    return "done"
