"""The shutdown of a worker: it waits for the running handlers, aborts the rest, and writes the last settlements."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress

from holdfast.worker.held_claims import HeldClaims
from holdfast.worker.settler import Settler

REMOVAL_TIMEOUT = 2.0
"""The maximum seconds for deleting the row of the worker. A row that is not deleted is ignored after 90 s."""
CANCEL_AGAIN = 1.0
"""Seconds after which a task that has not ended is cancelled again."""
SHUTDOWN_TIMEOUT = 5.0
"""The maximum seconds for aborted handlers to end, and again for writing the settlements."""


async def end_attempts(
    attempts: Collection[asyncio.Task[None]],
    held_claims: HeldClaims,
    settler: Settler,
    *,
    grace: float,
    cut: asyncio.Event,
) -> None:
    """Wait for the attempts until the grace period is over, or `cut` is set. Then abort those that are left.

    An aborted attempt is released: its job returns to pending. An attempt that does not end loses its lease later, and
    another worker runs the job again.
    """
    grace_ended = asyncio.create_task(cut.wait())
    deadline = asyncio.get_running_loop().time() + grace
    while attempts and not grace_ended.done():
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            break
        await asyncio.wait([*attempts, grace_ended], timeout=left, return_when=asyncio.FIRST_COMPLETED)
    grace_ended.cancel()
    for held_claim in held_claims.all():
        held_claim.abort("shutdown")
    if attempts:
        await asyncio.wait(attempts, timeout=SHUTDOWN_TIMEOUT)
    with suppress(TimeoutError):
        # If a settlement is not written in time, its lease expires and another worker runs the job again.
        await asyncio.wait_for(settler.flush(), timeout=SHUTDOWN_TIMEOUT)


async def cancel_all(parts: Collection[asyncio.Task[None]]) -> None:
    """Cancel these tasks until all have ended. A driver may lose a cancellation if an answer arrives meanwhile."""
    pending = {part for part in parts if not part.done()}
    while pending:
        for part in pending:
            part.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN)
    for part in parts:
        if not part.cancelled():
            part.exception()  # otherwise asyncio logs it when the task is garbage-collected
