"""Rolls back a transaction after any exception, GeneratorExit included."""

from __future__ import annotations

import asyncio

from holdfast.engine.store import Transaction

_unfinished: set[asyncio.Task[None]] = set()
"""References to running tasks: the event loop keeps only weak references."""


async def roll_back(tx: Transaction, error: BaseException) -> None:
    """Roll back a transaction because of this error.

    If the event loop throws GeneratorExit into a task, it closes the coroutines of that task. A closed coroutine cannot
    await the rollback, so the rollback then runs in a separate task.
    """
    # Not `isinstance`: it reads `__class__`, and an exception of the application may raise there.
    if not issubclass(type(error), GeneratorExit):
        await tx.rollback()
        return
    task = asyncio.get_running_loop().create_task(tx.rollback())
    _unfinished.add(task)
    task.add_done_callback(_unfinished.discard)
    await asyncio.shield(task)
