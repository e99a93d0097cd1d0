"""events: a live stream of all changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast.engine.operations import Listen, Operation
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, in_time, value


async def test_events_are_followed_live(harness: ClientHarness, listening: asyncio.Event) -> None:
    async def step(attempt: AttemptAdapter, number: int) -> Any:
        if number == 1 and attempt.job.attempt == 1:
            raise ValueError
        return stepping.bind(number - 1) if number else "there"

    stepping = harness.job(step)
    async with harness.client.events() as next_event:
        first = asyncio.create_task(next_event())
        await in_time(listening.wait())
        chain = await harness.client.start(stepping.bind(1))
        await harness.drain(advance=True)
        other = await harness.client.start(stepping.bind(0), delay=100)
        await harness.client.run_now(other)
        await harness.client.cancel(other)
        await harness.client.retry(other)
        await harness.client.delete([other])
        events = [await in_time(first)]
        while (events[-1].kind, events[-1].chain_id) != ("deleted", other.id):
            events.append(await in_time(next_event()))

    mine = [(event.kind, event.type, event.attempt) for event in events if event.chain_id == chain.id]
    assert mine[:4] == [("created", "step", 0), ("claimed", "step", 1), ("retrying", "step", 1), ("claimed", "step", 2)]
    assert sorted(mine[4:6]) == [("completed", "step", 2), ("created", "step", 0)]
    assert mine[6:] == [("claimed", "step", 1), ("completed", "step", 1)]
    others = [event.kind for event in events if event.chain_id == other.id]
    assert others == ["created", "made_due", "cancelled", "retried", "deleted"]
    assert all(event.at is not None for event in events)
    assert events[-1].job_id == other.id


@pytest.fixture
async def listening(harness: ClientHarness, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a client follows the events: from then on the store records them."""
    loop, listening = asyncio.get_running_loop(), asyncio.Event()
    perform, perform_sync = harness.store.perform, harness.store.perform_sync

    async def noted(operation: Operation[Any]) -> Any:
        answer = await perform(operation)
        if isinstance(operation, Listen):
            listening.set()
        return answer

    def noted_sync(operation: Operation[Any]) -> Any:
        answer = perform_sync(operation)
        if isinstance(operation, Listen):
            loop.call_soon_threadsafe(listening.set)
        return answer

    monkeypatch.setattr(harness.store, "perform", noted)
    monkeypatch.setattr(harness.store, "perform_sync", noted_sync)
    return listening


async def test_following_ends_cleanly_while_nothing_happens(harness: ClientHarness, listening: asyncio.Event) -> None:
    double = harness.jobs.job(name="double")(value)
    async with harness.client.events() as next_event:
        first = asyncio.create_task(next_event())
        await in_time(listening.wait())
        await harness.client.start(double.bind(1))
        assert (await in_time(first)).type == "double"
