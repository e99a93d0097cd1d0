"""The job types that the worker processes of these tests run."""

from __future__ import annotations

import os
from typing import Any

from holdfast import Attempt, Jobs, Retry, SyncAttempt
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


ONCE_MORE = Retry(initial=0, jitter=0, max_attempts=2)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


ERRORS: dict[str, type[BaseException]] = {
    "GeneratorExit": GeneratorExit,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "Unprintable": Unprintable,
}


@jobs.job(retry=ONCE_MORE)
async def interrupt(attempt: Attempt, number: int, error: str) -> str:
    """Raise inside complete(), after a write."""
    async with attempt.complete() as done:
        await _insert(done.tx, number, attempt.claim.token)
        raise ERRORS[error]


@jobs.job(retry=ONCE_MORE)
def interrupt_in_thread(attempt: SyncAttempt, number: int, error: str) -> str:
    with attempt.complete():
        raise ERRORS[error]


@jobs.job(retry=ONCE_MORE, executor="process")
def interrupt_in_child(number: int, error: str) -> str:
    raise ERRORS[error]


async def _insert(tx: Any, number: int, token: str) -> None:
    if tx is not None:
        mark = "%s" if type(tx).__module__.startswith("psycopg") else "?"
        await tx.execute(f"insert into ledger (number, token) values ({mark}, {mark})", (number, token))
