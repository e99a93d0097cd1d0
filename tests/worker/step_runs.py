"""Runs a handler with steps."""

from __future__ import annotations

import msgspec

from holdfast import Retry
from holdfast.testing.drain import drain
from tests.worker.harness import WorkerHarness

NO_DELAY = Retry(initial=0, max_attempts=5)


class Payment(msgspec.Struct, frozen=True):
    id: int


async def run(harness: WorkerHarness, *, advance: bool = False) -> list[str]:
    events = await drain(harness.client, advance=advance, retry=NO_DELAY, timeout=60)
    return [event.kind for event in events]
