"""The end of a worker's tasks."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from holdfast.worker import shutdown


async def test_a_task_that_loses_a_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdown, "CANCEL_AGAIN", 0.01)
    waits = asyncio.Event()

    async def lose_the_first() -> None:
        with suppress(asyncio.CancelledError):
            await waits.wait()
        await waits.wait()

    task = asyncio.create_task(lose_the_first())
    await asyncio.sleep(0)

    await shutdown.cancel_all((task,))

    assert task.cancelled()
