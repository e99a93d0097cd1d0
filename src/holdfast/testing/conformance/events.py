"""Live events: every transition, in order, while somebody listens."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.engine.operations import (
    Cancel,
    Complete,
    Completion,
    Delete,
    EventRow,
    Listen,
    ReadEvents,
    ReportProgress,
    RetryJobs,
    RunNow,
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
from holdfast.testing.conformance.harness import Harness

HOUR = 3600 * SECOND


async def nothing_is_recorded_while_nobody_listens(harness: Harness) -> None:
    await harness.completed()

    assert await harness.perform(ReadEvents(0, 100)) == []
    assert await harness.perform(Listen("me", HOUR)) == 0
    assert await harness.perform(ReadEvents(0, 100)) == []


async def an_event_names_its_job_its_chain_its_type_its_attempt_and_its_worker(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    job = await harness.started()
    harness.clock.advance(1)
    await harness.claim_one(worker="w")

    created, claimed = await harness.perform(ReadEvents(after, 100))

    assert created[2:] == ("created", job.id, job.chain_id, "resize", 0, None)
    assert claimed[2:] == ("claimed", job.id, job.chain_id, "resize", 1, "w")
    assert (created.at, claimed.at) == (job.created_at, harness.clock())
    assert after < created.seq < claimed.seq


async def the_life_of_a_job_is_told_in_order(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    job = await harness.claimed(new_job(delay=0))
    await harness.perform(ReportProgress(job.claim, 0.5, None))
    await harness.settled(retrying(job, delay=60))
    await harness.perform(RunNow((job.id,)))
    await harness.settled(rescheduled(await harness.claim_one()))
    await harness.settled(released(await harness.claim_one()))
    await harness.claim_one()
    await harness.expire()
    await harness.reap()
    await harness.settled(failed(await harness.claim_one()))
    await harness.perform(RetryJobs((job.id,)))
    await harness.perform(Cancel((job.id,)))
    await harness.perform(Delete((job.id,)))

    kinds = [event.kind for event in await harness.perform(ReadEvents(after, 100))]

    assert kinds == [
        "created", "claimed", "progressed", "retrying", "hurried",
        "claimed", "rescheduled", "claimed", "released", "claimed", "reaped", "claimed", "failed",
        "retried", "cancelled", "deleted",
    ]  # fmt: skip


async def a_chain_that_ends_is_told_with_those_it_unblocks(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    job = await harness.claimed()
    waiting = await harness.started(new_job("other", after=(job.id,)))
    second = next_job(job)
    await harness.settled(continued(job, second))
    await harness.perform(Complete(job.id, second.id, (Completion(output=b"1"),)))

    reported = _reported(await harness.perform(ReadEvents(after, 100)))

    assert reported[:3] == [("created", job.id), ("claimed", job.id), ("created", waiting.id)]
    assert sorted(reported[3:5]) == [("completed", job.id), ("created", second.id)]
    assert reported[5:] == [("completed", second.id), ("unblocked", waiting.id)]


async def dependents_that_fail_with_their_blocker_are_told(harness: Harness) -> None:
    job = await harness.claimed()
    waiting = await harness.started(new_job("other", after=(job.id,), on_blocker_failure="fail"))
    after = await harness.perform(Listen("me", HOUR))

    await harness.settled(failed(job))

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("failed", job.id), ("failed", waiting.id)]


async def a_job_that_fails_by_a_lost_lease_is_told_as_failed(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    after = await harness.perform(Listen("me", HOUR))
    await harness.expire()

    await harness.reap()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("failed", job.id)]


async def what_was_not_written_is_not_told(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k"))
    done = await harness.completed()
    after = await harness.perform(Listen("me", HOUR))
    await harness.start(new_job(key="k"))
    await harness.perform(Cancel((done.id,)))
    await harness.perform(Cancel((job.id,)))
    await harness.settle(completed(job), failed(job))

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("cancelled", job.id)]


async def events_are_read_after_a_seq_oldest_first_up_to_a_limit(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    jobs = [await harness.started() for _ in range(7)]
    seen: list[EventRow] = []

    while page := await harness.perform(ReadEvents(after, 3)):
        assert len(page) <= 3
        seen += page
        after = page[-1].seq

    assert _reported(seen) == [("created", job.id) for job in jobs]


async def who_listens_later_starts_at_the_newest_event(harness: Harness) -> None:
    await harness.perform(Listen("me", HOUR))
    await harness.started()
    after = await harness.perform(Listen("you", HOUR))
    job = await harness.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", job.id)]


async def listening_ends_with_its_lease_unless_called_again(harness: Harness) -> None:
    after = await harness.perform(Listen("me", 10 * SECOND))
    harness.clock.advance(8)
    await harness.perform(Listen("me", 10 * SECOND))
    harness.clock.advance(8)
    received = await harness.started()
    harness.clock.advance(8)
    await harness.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", received.id)]


async def when_the_last_listener_leaves_nothing_more_is_recorded(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    await harness.perform(Listen("you", HOUR))
    await harness.perform(Unlisten("me"))
    received = await harness.started()
    await harness.perform(Unlisten("you"))
    await harness.perform(Unlisten("nobody"))
    await harness.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", received.id)]


async def every_handle_hears_what_another_did(harness: Harness) -> None:
    other = await harness.second_store()
    after = await harness.perform(Listen("me", HOUR))

    job = await other.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", job.id)]


async def the_events_of_many_at_once_have_each_their_own_seq(harness: Harness) -> None:
    other = await harness.second_store()
    after = await harness.perform(Listen("me", HOUR))

    await harness.race([g.start(*[new_job() for _ in range(5)]) for g in [harness, other] * 4])

    events = await harness.perform(ReadEvents(after, 100))
    assert len({event.seq for event in events}) == 40
    assert len({event.job_id for event in events}) == 40


def _reported(events: list[EventRow]) -> list[tuple[str, str]]:
    return [(event.kind, event.job_id) for event in events]
