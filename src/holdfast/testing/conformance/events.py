"""Events: every change is recorded in order while a listener exists."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.engine.operations import (
    CancelChains,
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


async def nothing_is_recorded_without_a_listener(harness: Harness) -> None:
    await harness.completed()

    assert await harness.perform(ReadEvents(0, 100)) == []
    assert await harness.perform(Listen("me", HOUR)) == 0
    assert await harness.perform(ReadEvents(0, 100)) == []


async def an_event_contains_job_chain_type_attempt_and_worker(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    job = await harness.started()
    harness.clock.advance(1)
    await harness.claim_one(worker="w")

    created, claimed = await harness.perform(ReadEvents(after, 100))

    assert created[2:] == ("created", job.id, job.chain_id, "resize", 0, None)
    assert claimed[2:] == ("claimed", job.id, job.chain_id, "resize", 1, "w")
    assert (created.at, claimed.at) == (job.created_at, harness.clock())
    assert after < created.seq < claimed.seq


async def the_changes_of_a_job_are_recorded_in_order(harness: Harness) -> None:
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
    await harness.perform(CancelChains((job.id,)))
    await harness.perform(Delete((job.id,)))

    kinds = [event.kind for event in await harness.perform(ReadEvents(after, 100))]

    assert kinds == [
        "created", "claimed", "progressed", "retrying", "made_due",
        "claimed", "rescheduled", "claimed", "released", "claimed", "reaped", "claimed", "failed",
        "retried", "cancelled", "deleted",
    ]  # fmt: skip


async def the_end_of_a_chain_is_recorded_with_the_unblocked_jobs(harness: Harness) -> None:
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


async def dependents_that_fail_with_their_blocker_are_recorded(harness: Harness) -> None:
    job = await harness.claimed()
    waiting = await harness.started(new_job("other", after=(job.id,), on_blocker_failure="fail"))
    after = await harness.perform(Listen("me", HOUR))

    await harness.settled(failed(job))

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("failed", job.id), ("failed", waiting.id)]


async def a_job_that_fails_in_a_reap_is_recorded_as_failed(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    after = await harness.perform(Listen("me", HOUR))
    await harness.expire()

    await harness.reap()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("failed", job.id)]


async def refused_writes_record_no_events(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k"))
    done = await harness.completed()
    after = await harness.perform(Listen("me", HOUR))
    await harness.start(new_job(key="k"))
    await harness.perform(CancelChains((done.id,)))
    await harness.perform(CancelChains((job.id,)))
    await harness.settle(completed(job), failed(job))

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("cancelled", job.id)]


async def events_are_read_oldest_first_from_a_seq_up_to_a_limit(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    jobs = [await harness.started() for _ in range(7)]
    seen: list[EventRow] = []

    while page := await harness.perform(ReadEvents(after, 3)):
        assert len(page) <= 3
        seen += page
        after = page[-1].seq

    assert _reported(seen) == [("created", job.id) for job in jobs]


async def a_later_listener_starts_at_the_newest_event(harness: Harness) -> None:
    await harness.perform(Listen("me", HOUR))
    await harness.started()
    after = await harness.perform(Listen("you", HOUR))
    job = await harness.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", job.id)]


async def listening_ends_with_its_lease_unless_it_is_repeated(harness: Harness) -> None:
    after = await harness.perform(Listen("me", 10 * SECOND))
    harness.clock.advance(8)
    await harness.perform(Listen("me", 10 * SECOND))
    harness.clock.advance(8)
    received = await harness.started()
    harness.clock.advance(8)
    await harness.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", received.id)]


async def nothing_is_recorded_after_the_last_listener_stopped(harness: Harness) -> None:
    after = await harness.perform(Listen("me", HOUR))
    await harness.perform(Listen("you", HOUR))
    await harness.perform(Unlisten("me"))
    received = await harness.started()
    await harness.perform(Unlisten("you"))
    await harness.perform(Unlisten("unknown"))
    await harness.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", received.id)]


async def events_of_another_store_object_are_recorded(harness: Harness) -> None:
    other = await harness.second_store()
    after = await harness.perform(Listen("me", HOUR))

    job = await other.started()

    assert _reported(await harness.perform(ReadEvents(after, 100))) == [("created", job.id)]


async def concurrent_events_have_different_seqs(harness: Harness) -> None:
    other = await harness.second_store()
    after = await harness.perform(Listen("me", HOUR))

    await harness.race([g.start(*[new_job() for _ in range(5)]) for g in [harness, other] * 4])

    events = await harness.perform(ReadEvents(after, 100))
    assert len({event.seq for event in events}) == 40
    assert len({event.job_id for event in events}) == 40


def _reported(events: list[EventRow]) -> list[tuple[str, str]]:
    return [(event.kind, event.job_id) for event in events]
