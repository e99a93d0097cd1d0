"""Rolls a transaction back, whatever exception is the reason."""

from __future__ import annotations

import asyncio

from holdfast.engine.store import Transaction

_unfinished: set[asyncio.Task[None]] = set()
"""The event loop keeps weak references to tasks only."""


async def roll_back(tx: Transaction, error: BaseException) -> None:
    """Roll back a transaction because of this error.

    A GeneratorExit closes the coroutines of a task if the event loop throws it, from a future that the task awaits. A
    coroutine that is closed cannot await the rollback to its end. So the rollback is then a task of its own.
    """
    if not isinstance(error, GeneratorExit):
        await tx.rollback()
        return
    task = asyncio.get_running_loop().create_task(tx.rollback())
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)
    await asyncio.shield(task)
