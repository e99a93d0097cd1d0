"""The reaper as its own object: one leads, the others stand by."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Event, Queue, Reaper
from holdfast.engine import procedures
from holdfast.engine.operations import Filter, ListJobs
from holdfast.queue.leadership import Leadership
from holdfast.queue.queue_reaper import EVENTS
from holdfast.testing.conformance import StoreFactory
from tests.queue.stage import LEASE, Recorder, Stage

QUICK = 0.02


def reaper(stage: Stage, **options: Any) -> tuple[Reaper, Recorder]:
    made = Reaper(stage.store, interval=QUICK, **options)
    return made, Recorder(made, EVENTS)


async def test_stalled_jobs_of_every_queue_are_taken_back(stage: Stage) -> None:
    async with stage.queue(name="one") as one, stage.queue(name="two") as two:
        await one.enqueue("user:1", 1)
        await two.enqueue("b", 1)
        await stage.claim(name="one")
        await stage.claim(name="two")
        stage.clock.advance(LEASE)
        watching, recorder = reaper(stage)
        async with watching:
            await recorder.receive("stalled", "user:1", "one")
            await recorder.receive("stalled", "b", "two")

        for queue, id in ((one, "user:1"), (two, "b")):
            status = await queue.status(id)
            assert status is not None
            assert (status.state, status.attempts) == ("failing", 1)


async def test_only_the_named_queues_are_watched(stage: Stage) -> None:
    mine: Queue[Any, Any] = stage.queue(name="mine")
    async with mine, stage.queue(name="other") as other:
        await mine.enqueue("a", 1)
        await other.enqueue("b", 1)
        await stage.claim(name="mine")
        await stage.claim(name="other")
        stage.clock.advance(LEASE)
        watching, recorder = reaper(stage, queues=[mine])
        async with watching:
            await recorder.receive("stalled", "a", "mine")
        status = await other.status("b")

    assert recorder.find("stalled") == [("stalled", "a", "mine")]
    assert status is not None
    assert status.state == "processing"


async def test_a_job_whose_attempts_are_used_up_is_failed(stage: Stage) -> None:
    events: list[Event] = []
    async with stage.queue() as queue:
        await queue.enqueue("a", 1, max_attempts=1)
        await stage.claim()
        stage.clock.advance(LEASE)
        watching, recorder = reaper(stage, observers=[events.append])
        async with watching:
            await recorder.receive("stalled", "a")
        status = await queue.status("a")

    assert status is not None
    assert (status.state, status.error and status.error.type) == ("failed", "LeaseLost")
    assert [event.kind for event in events] == ["reaped", "failed"]


async def test_one_of_several_reapers_leads_and_resigns_when_it_stops(stage: Stage, make_store: StoreFactory) -> None:
    other = make_store()
    other.clock = stage.clock
    first, first_ear = reaper(stage)
    second = Reaper(other, interval=QUICK)
    second_ear = Recorder(second, EVENTS)
    async with first:
        await first_ear.receive("leadership_acquired")
        async with second:
            assert (first.is_leader, second.is_leader) == (True, False)
            first.stop()
            await first_ear.receive("leadership_lost")
            await second_ear.receive("leadership_acquired")
            assert (first.is_leader, second.is_leader) == (False, True)
    await other.close()

    offices = await stage.store.perform(ListJobs(Filter(types=("holdfast:leader:reaper",)), 10))
    assert [(office.status, office.attempt) for office in offices] == [("pending", 0)]


async def test_a_leader_that_falls_silent_is_replaced_and_told_so(stage: Stage) -> None:
    first, first_ear = reaper(stage, lease=3600)
    async with first:
        await first_ear.receive("leadership_acquired")
        stage.clock.advance(3600)
        second, second_ear = reaper(stage, lease=0.3)
        async with second:
            await second_ear.receive("leadership_acquired")
            assert second.is_leader

    assert first_ear.find("leadership_lost") == [("leadership_lost",)]


async def test_reapers_of_different_queues_do_not_compete(stage: Stage) -> None:
    one, one_ear = reaper(stage, queues=["one"])
    two, two_ear = reaper(stage, queues=["two"])
    async with one, two:
        await one_ear.receive("leadership_acquired")
        await two_ear.receive("leadership_acquired")


async def test_a_leader_learns_at_its_next_renewal_that_it_was_replaced(stage: Stage) -> None:
    leader = Leadership("office", "one", lease=30)
    usurper = Leadership("office", "two", lease=30)
    perform = stage.store.perform
    assert await procedures.run(perform, leader.campaign())
    assert not await procedures.run(perform, usurper.campaign())
    assert await procedures.run(perform, leader.renew())
    stage.clock.advance(30)
    assert await procedures.run(perform, usurper.campaign())

    assert not await procedures.run(perform, leader.renew())

    assert (leader.held, usurper.held) == (False, True)
    await procedures.run(perform, leader.resign())
    assert await procedures.run(perform, usurper.renew())


async def test_a_leader_that_cannot_renew_steps_down_before_another_can_be_elected(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("holdfast.queue.leadership.lease_clock", lambda: now)
    leader = Leadership("office", "one", lease=30)
    assert await procedures.run(stage.store.perform, leader.campaign())
    now = 26.9
    assert leader.held

    now = 27.0

    assert not leader.held


async def test_a_reaper_runs_again_after_it_was_stopped(stage: Stage) -> None:
    watching, recorder = reaper(stage)
    for number in (1, 2):
        async with watching:
            await recorder.receive("leadership_acquired", times=number)

    assert len(recorder.find("leadership_lost")) == 2
