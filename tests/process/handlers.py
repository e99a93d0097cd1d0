"""The job types that the worker processes of these tests run."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from holdfast import Attempt, Jobs, Retry, SyncAttempt
from holdfast.worker.process_child import Aborted
from tests.process.latch import opened

jobs = Jobs()

AT_ONCE = Retry(initial=0, jitter=0, max_attempts=5)


@jobs.job(retry=AT_ONCE)
async def note(attempt: Attempt, number: int) -> str:
    """Insert a row into the ledger in the transaction of the completion. Returns the token of the attempt."""
    async with attempt.complete() as done:
        await _insert(done.tx, number, attempt.claim.token)
        return done.output(attempt.claim.token)


@jobs.job(retry=AT_ONCE)
async def hold(attempt: Attempt, number: int, latch: str) -> str:
    """Write to the ledger after the latch is open. Only the first attempt waits."""
    if attempt.job.attempt == 1:
        await opened(latch)
    async with attempt.complete() as done:
        await _insert(done.tx, number, attempt.claim.token)
        return done.output(attempt.claim.token)


@jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=3))
async def poison() -> None:
    """Kill the worker."""
    os._exit(139)


@jobs.job(retry=AT_ONCE)
async def wait_for_abort(attempt: Attempt, reasons: str) -> str:
    """Write the abort reason to a file. Only the first attempt waits for the abort."""
    if attempt.job.attempt == 1:
        try:
            await asyncio.to_thread(Path(f"{reasons}.begun").touch)
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.to_thread(_write_down, reasons, attempt.signal.reason)
    return "done"


@jobs.job(retry=AT_ONCE)
def wait_for_abort_in_thread(attempt: SyncAttempt, reasons: str) -> str:
    if attempt.job.attempt == 1:
        Path(f"{reasons}.begun").touch()
        _write_down(reasons, attempt.signal.wait_sync())
    return "done"


@jobs.job(retry=AT_ONCE, executor="process")
def wait_for_abort_in_child(reasons: str) -> str:
    """Whether this is the first attempt. It creates a file."""
    begun = Path(f"{reasons}.begun")
    if not begun.exists():
        begun.touch()
        try:
            os.mkfifo(f"{reasons}.never")
            Path(f"{reasons}.never").open().close()
        except Aborted as abort:
            _write_down(reasons, abort.reason)
            raise
    return "done"


def _write_down(path: str, reason: str | None) -> None:
    """Create the file with the reason in it, atomically."""
    written = Path(f"{path}.written")
    written.write_text(str(reason))
    written.rename(path)


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
        mark = "%s" if any(each.__module__.startswith("psycopg") for each in type(tx).__mro__) else "?"
        await tx.execute(f"insert into ledger (number, token) values ({mark}, {mark})", (number, token))
