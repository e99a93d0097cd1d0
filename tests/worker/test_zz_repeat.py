"""Durable steps: results are stored, and a later attempt does not run them again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from holdfast import (
    Attempt,
    Fail,
    MessageTimeout,
    PayloadRefused,
    Retry,
    Status,
    StepTimeout,
    Suspended,
    SyncAttempt,
)
from holdfast.testing.drain import drain
from tests.worker.harness import WorkerHarness

NO_DELAY = Retry(initial=0, max_attempts=5)


class Payment(msgspec.Struct, frozen=True):
    id: int


async def _run(harness: WorkerHarness, *, advance: bool = False) -> list[str]:
    events = await drain(harness.client, advance=advance, retry=NO_DELAY, timeout=30)
    return [event.kind for event in events]




@pytest.mark.parametrize("n", range(400))
async def test_a_cursor_continues_after_the_last_saved_position(harness: WorkerHarness, n: int) -> None:
    seen: list[int] = []

    def after(last: int | None) -> list[int]:
        return list(range(0 if last is None else last + 1, 10))

    @harness.jobs.job
    async def by_count(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", iter(range(10)), every=3):
            seen.append(row)
            if attempt.job.attempt == 1 and row == 7:
                raise ValueError("no luck")

    @harness.jobs.job
    async def by_item(attempt: Attempt) -> None:
        async for row in attempt.cursor("rows", after, every=4):
            seen.append(row)
            if attempt.job.attempt == 1 and row == 5:
                raise ValueError("no luck")

    chain = await harness.start(by_count.bind())
    await _run(harness)
    assert seen == [*range(8), *range(6, 10)]
    (step,) = await harness.client.steps(chain)
    assert (step.name, step.result) == ("rows", 10)

    seen.clear()
    await harness.start(by_item.bind())
    await _run(harness)
    assert seen == [*range(6), *range(4, 10)]


