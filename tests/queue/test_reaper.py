"""The class `Reaper`: of several, one reaps at a time, and another takes over when it ends."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Event, Queue, Reaper
from holdfast.core.ids import new_token
from holdfast.engine import procedures
from holdfast.engine.operations import ClaimJobs, Filter, ListJobs, TypeTerms
from holdfast.queue.leadership import Leadership
from holdfast.queue.queue_reaper import EVENTS
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sharded.store import ShardedStore
from holdfast.testing.clock import ManualClock
from holdfast.testing.conformance import StoreFactory
from tests.queue.harness import LEASE, Harness, Recorder

QUICK = 0.02


def reaper(harness: Harness, **options: Any) -> tuple[Reaper, Recorder]:
    made = Reaper(harness.store, interval=QUICK, **options)
    return made, Recorder(made, EVENTS)


async def test_stalled_jobs_of_every_queue_are_reaped(harness: Harness) -> None:
    async with harness.queue(name="one") as one, harness.queue(name="two") as two:
        await one.enqueue("user:1", 1)
        await two.enqueue("b", 1)
        await harness.claim(name="one")
        await harness.claim(name="two")
        harness.clock.advance(LEASE)
        watching, recorder = reaper(harness)
        async with watching:
            await recorder.receive("stalled", "user:1", "one")
            await recorder.receive("stalled", "b", "two")

        for queue, id in ((one, "user:1"), (two, "b")):
            status = await queue.status(id)
            assert status is not None
            assert (status.state, status.attempts) == ("failing", 1)


async def test_one_reaper_watches_all_shards(clock: ManualClock) -> None:
    shards = {name: MemoryStore(clock=clock) for name in ("eu", "us")}
    store = ShardedStore(shards)
    store.clock = clock
    harness = Harness(store, clock)
    ids = [f"user:{number}" for number in range(8)]  # a hash of the id chooses the shard
    async with harness.queue() as queue:
        for id in ids:
            await queue.enqueue(id, 1)
        terms = (TypeTerms("queue:emails", 30_000_000, 25),)
        claimed = [await shard.perform(ClaimJobs(terms, 8, "dead", new_token())) for shard in shards.values()]
        assert all(claimed)  # jobs of both shards
        clock.advance(LEASE)
        watching, recorder = reaper(harness)
        async with watching:
            for id in ids:
                await recorder.receive("stalled", id, "emails")


async def test_only_the_named_queues_are_watched(harness: Harness) -> None:
    mine: Queue[Any, Any] = harness.queue(name="mine")
    async with mine, harness.queue(name="other") as other:
        await mine.enqueue("a", 1)
        await other.enqueue("b", 1)
        await harness.claim(name="mine")
        await harness.claim(name="other")
        harness.clock.advance(LEASE)
        watching, recorder = reaper(harness, queues=[mine])
        async with watching:
            await recorder.receive("stalled", "a", "mine")
        status = await other.status("b")

    assert recorder.find("stalled") == [("stalled", "a", "mine")]
    assert status is not None
    assert status.state == "processing"


async def test_a_job_whose_attempts_are_used_up_is_failed(harness: Harness) -> None:
    events: list[Event] = []
    async with harness.queue() as queue:
        await queue.enqueue("a", 1, max_attempts=1)
        await harness.claim()
        harness.clock.advance(LEASE)
        watching, recorder = reaper(harness, observers=[events.append])
        async with watching:
            await recorder.receive("stalled", "a")
        status = await queue.status("a")

    assert status is not None
    assert (status.state, status.error and status.error.type) == ("failed", "LeaseLost")
    assert [event.kind for event in events] == ["reaped", "failed"]


async def test_one_of_several_reapers_leads_and_resigns_when_it_stops(
    harness: Harness, make_store: StoreFactory
) -> None:
    other = make_store()
    other.clock = harness.clock
    first, first_events = reaper(harness)
    second = Reaper(other, interval=QUICK)
    second_events = Recorder(second, EVENTS)
    async with first:
        await first_events.receive("leadership_acquired")
        async with second:
            assert (first.is_leader, second.is_leader) == (True, False)
            first.stop()
            await first_events.receive("leadership_lost")
            await second_events.receive("leadership_acquired")
            assert (first.is_leader, second.is_leader) == (False, True)
    await other.close()

    offices = await harness.store.perform(ListJobs(Filter(types=("holdfast:leader:reaper",)), 10))
    assert [(office.status, office.attempt) for office in offices] == [("pending", 0)]


async def test_a_leader_that_stops_renewing_is_replaced_and_loses_the_leadership(harness: Harness) -> None:
    first, first_events = reaper(harness, lease=3600)
    async with first:
        await first_events.receive("leadership_acquired")
        harness.clock.advance(3600)
        second, second_events = reaper(harness, lease=0.3)
        async with second:
            await second_events.receive("leadership_acquired")
            assert second.is_leader

    assert first_events.find("leadership_lost") == [("leadership_lost",)]


async def test_reapers_of_different_queues_do_not_compete(harness: Harness) -> None:
    one, one_events = reaper(harness, queues=["one"])
    two, two_events = reaper(harness, queues=["two"])
    async with one, two:
        await one_events.receive("leadership_acquired")
        await two_events.receive("leadership_acquired")


async def test_a_leader_learns_at_its_next_renewal_that_it_was_replaced(harness: Harness) -> None:
    leader = Leadership("office", "one", lease=30)
    usurper = Leadership("office", "two", lease=30)
    perform = harness.store.perform
    assert await procedures.run(perform, leader.campaign())
    assert not await procedures.run(perform, usurper.campaign())
    assert await procedures.run(perform, leader.renew())
    harness.clock.advance(30)
    assert await procedures.run(perform, usurper.campaign())

    assert not await procedures.run(perform, leader.renew())

    assert (leader.held, usurper.held) == (False, True)
    await procedures.run(perform, leader.resign())
    assert await procedures.run(perform, usurper.renew())


async def test_a_leader_that_cannot_renew_steps_down_before_another_can_be_elected(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("holdfast.queue.leadership.lease_clock", lambda: now)
    leader = Leadership("office", "one", lease=30)
    assert await procedures.run(harness.store.perform, leader.campaign())
    now = 26.9
    assert leader.held

    now = 27.0

    assert not leader.held


async def test_a_reaper_runs_again_after_it_was_stopped(harness: Harness) -> None:
    watching, recorder = reaper(harness)
    for number in (1, 2):
        async with watching:
            await recorder.receive("leadership_acquired", times=number)

    assert len(recorder.find("leadership_lost")) == 2
