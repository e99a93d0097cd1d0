"""Short forms of the steps of schedule tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from holdfast.core.schedule import Schedule
from tests.conformance.client.harness import TIMEOUT, ClientHarness

HOUR = timedelta(hours=1)


async def stored_schedule(harness: ClientHarness, name: str = "hourly") -> Schedule:
    found: dict[str, Schedule] = {each.name: each for each in await harness.client.schedules()}
    return found[name]


async def until(harness: ClientHarness, name: str, condition: Callable[[Schedule], bool]) -> None:
    """Wait for a change that a worker makes, and that no event reports."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            found = {each.name: each for each in await harness.client.schedules()}
            if name in found and condition(found[name]):
                return
            await asyncio.sleep(0.01)


async def chain_ids(harness: ClientHarness, *, status: str | None = None) -> list[str]:
    page = await harness.client.list_chains(status=status, limit=1000)
    return sorted(chain.id for chain in page.items)


def tick_id(moment: datetime, name: str = "hourly") -> str:
    return f"schedule:{name}:{moment:%Y-%m-%dT%H:%M:%S}Z"
