"""The job types that the worker processes of these tests run."""

from __future__ import annotations

import os
from typing import Any

from holdfast import Attempt, Jobs, Retry
from tests.process.gate import opened

jobs = Jobs()

AT_ONCE = Retry(initial=0, jitter=0, max_attempts=5)


@jobs.job(retry=AT_ONCE)
async def note(attempt: Attempt, number: int) -> str:
    """Write a line into the ledger, together with the completion. Returns the token of the attempt that did it."""
    async with attempt.complete() as done:
        await _insert(done.tx, number, attempt.claim.token)
        return done.output(attempt.claim.token)


@jobs.job(retry=AT_ONCE)
async def hold(attempt: Attempt, number: int, gate: str) -> str:
    """Note it when the gate is open. Only the first attempt waits there."""
    if attempt.job.attempt == 1:
        await opened(gate)
    async with attempt.complete() as done:
        await _insert(done.tx, number, attempt.claim.token)
        return done.output(attempt.claim.token)


@jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=3))
async def poison() -> None:
    """Kill the worker."""
    os._exit(139)


async def _insert(tx: Any, number: int, token: str) -> None:
    if tx is not None:
        mark = "%s" if type(tx).__module__.startswith("psycopg") else "?"
        await tx.execute(f"insert into ledger (number, token) values ({mark}, {mark})", (number, token))
