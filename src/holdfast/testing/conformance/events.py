"""Live events: every transition, in order, while somebody listens."""

from __future__ import annotations

from holdfast.clock import SECOND
from holdfast.operations import (
    Cancel,
    Complete,
    Delete,
    EventRow,
    Listen,
    ReadEvents,
    ReportProgress,
    RetryJobs,
    RunNow,
    Step,
    Unlisten,
)
from holdfast.testing.builders import (
    completed,
    continued,
    failed,
    new_job,
    next_job,
    released,
    rescheduled,
    retrying,
)
from holdfast.testing.conformance.ground import Ground

HOUR = 3600 * SECOND


async def nothing_is_recorded_while_nobody_listens(ground: Ground) -> None:
    await ground.completed()

    assert await ground.perform(ReadEvents(0, 100)) == []
    assert await ground.perform(Listen("me", HOUR)) == 0
    assert await ground.perform(ReadEvents(0, 100)) == []


async def an_event_names_its_job_its_chain_its_type_its_attempt_and_its_worker(ground: Ground) -> None:
    after = await ground.perform(Listen("me", HOUR))
    job = await ground.started()
    ground.clock.advance(1)
    await ground.claim_one(worker="w")

    created, claimed = await ground.perform(ReadEvents(after, 100))

    assert created[2:] == ("created", job.id, job.chain_id, "resize", 0, None)
    assert claimed[2:] == ("claimed", job.id, job.chain_id, "resize", 1, "w")
    assert (created.at, claimed.at) == (job.created_at, ground.clock())
    assert after < created.seq < claimed.seq


async def the_life_of_a_job_is_told_in_order(ground: Ground) -> None:
    after = await ground.perform(Listen("me", HOUR))
    job = await ground.claimed(new_job(delay=0))
    await ground.perform(ReportProgress(job.claim, 0.5, None))
    await ground.settled(retrying(job, delay=60))
    await ground.perform(RunNow((job.id,)))
    await ground.settled(rescheduled(await ground.claim_one()))
    await ground.settled(released(await ground.claim_one()))
    await ground.claim_one()
    await ground.expire()
    await ground.reap()
    await ground.settled(failed(await ground.claim_one()))
    await ground.perform(RetryJobs((job.id,)))
    await ground.perform(Cancel((job.id,)))
    await ground.perform(Delete((job.id,)))

    kinds = [event.kind for event in await ground.perform(ReadEvents(after, 100))]

    assert kinds == [
        "created", "claimed", "progressed", "retrying", "hurried",
        "claimed", "rescheduled", "claimed", "released", "claimed", "reaped", "claimed", "failed",
        "retried", "cancelled", "deleted",
    ]  # fmt: skip


async def a_chain_that_ends_is_told_with_those_it_unblocks(ground: Ground) -> None:
    after = await ground.perform(Listen("me", HOUR))
    job = await ground.claimed()
    waiting = await ground.started(new_job("other", after=(job.id,)))
    second = next_job(job)
    await ground.settled(continued(job, second))
    await ground.perform(Complete(job.id, second.id, (Step(output=b"1"),)))

    told = _told(await ground.perform(ReadEvents(after, 100)))

    assert told[:3] == [("created", job.id), ("claimed", job.id), ("created", waiting.id)]
    assert sorted(told[3:5]) == [("completed", job.id), ("created", second.id)]
    assert told[5:] == [("completed", second.id), ("unblocked", waiting.id)]


async def dependents_that_fail_with_their_blocker_are_told(ground: Ground) -> None:
    job = await ground.claimed()
    waiting = await ground.started(new_job("other", after=(job.id,), on_blocker_failure="fail"))
    after = await ground.perform(Listen("me", HOUR))

    await ground.settled(failed(job))

    assert _told(await ground.perform(ReadEvents(after, 100))) == [("failed", job.id), ("failed", waiting.id)]


async def a_job_that_fails_by_a_lost_lease_is_told_as_failed(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=1))
    after = await ground.perform(Listen("me", HOUR))
    await ground.expire()

    await ground.reap()

    assert _told(await ground.perform(ReadEvents(after, 100))) == [("failed", job.id)]


async def what_was_not_written_is_not_told(ground: Ground) -> None:
    job = await ground.claimed(new_job(key="k"))
    done = await ground.completed()
    after = await ground.perform(Listen("me", HOUR))
    await ground.start(new_job(key="k"))
    await ground.perform(Cancel((done.id,)))
    await ground.perform(Cancel((job.id,)))
    await ground.settle(completed(job), failed(job))

    assert _told(await ground.perform(ReadEvents(after, 100))) == [("cancelled", job.id)]


async def events_are_read_after_a_seq_oldest_first_up_to_a_limit(ground: Ground) -> None:
    after = await ground.perform(Listen("me", HOUR))
    jobs = [await ground.started() for _ in range(7)]
    seen: list[EventRow] = []

    while page := await ground.perform(ReadEvents(after, 3)):
        assert len(page) <= 3
        seen += page
        after = page[-1].seq

    assert _told(seen) == [("created", job.id) for job in jobs]


async def who_listens_later_starts_at_the_newest_event(ground: Ground) -> None:
    await ground.perform(Listen("me", HOUR))
    await ground.started()
    after = await ground.perform(Listen("you", HOUR))
    job = await ground.started()

    assert _told(await ground.perform(ReadEvents(after, 100))) == [("created", job.id)]


async def listening_ends_with_its_lease_unless_called_again(ground: Ground) -> None:
    after = await ground.perform(Listen("me", 10 * SECOND))
    ground.clock.advance(8)
    await ground.perform(Listen("me", 10 * SECOND))
    ground.clock.advance(8)
    heard = await ground.started()
    ground.clock.advance(8)
    await ground.started()

    assert _told(await ground.perform(ReadEvents(after, 100))) == [("created", heard.id)]


async def when_the_last_listener_leaves_nothing_more_is_recorded(ground: Ground) -> None:
    after = await ground.perform(Listen("me", HOUR))
    await ground.perform(Listen("you", HOUR))
    await ground.perform(Unlisten("me"))
    heard = await ground.started()
    await ground.perform(Unlisten("you"))
    await ground.perform(Unlisten("nobody"))
    await ground.started()

    assert _told(await ground.perform(ReadEvents(after, 100))) == [("created", heard.id)]


async def every_handle_hears_what_another_did(ground: Ground) -> None:
    other = await ground.second_store()
    after = await ground.perform(Listen("me", HOUR))

    job = await other.started()

    assert _told(await ground.perform(ReadEvents(after, 100))) == [("created", job.id)]


async def the_events_of_many_at_once_have_each_their_own_seq(ground: Ground) -> None:
    other = await ground.second_store()
    after = await ground.perform(Listen("me", HOUR))

    await ground.race([g.start(*[new_job() for _ in range(5)]) for g in [ground, other] * 4])

    events = await ground.perform(ReadEvents(after, 100))
    assert len({event.seq for event in events}) == 40
    assert len({event.job_id for event in events}) == 40


def _told(events: list[EventRow]) -> list[tuple[str, str]]:
    return [(event.kind, event.job_id) for event in events]
