"""Counters: what happened per type and minute, exactly once, in the transaction that it counts."""

from __future__ import annotations

from holdfast.core.counters import MINUTE, Counts, minute_of
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Delete,
    GetCounters,
    GetErrors,
    Prune,
    Settle,
    Start,
)
from holdfast.testing.builders import (
    cancelled,
    completed,
    continued,
    failed,
    finally_mismatched,
    mismatched,
    new_job,
    next_job,
    released,
    rescheduled,
    retrying,
)
from holdfast.testing.conformance.builders import grouped_failure
from holdfast.testing.conformance.harness import Harness


async def an_empty_store_has_no_counters(harness: Harness) -> None:
    counters = await harness.perform(GetCounters())

    assert (counters.minutes, counters.totals) == ({}, {})
    assert counters.now == harness.clock()


async def every_end_of_an_attempt_is_counted(harness: Harness) -> None:
    await harness.settled(completed(await harness.claimed()))
    await harness.settled(failed(await harness.claimed()))
    await harness.settled(cancelled(await harness.claimed()))
    for end in (retrying, rescheduled):
        job = await harness.claimed()
        await harness.settled(end(job, delay=3600))

    counts = await _total(harness)

    assert _numbers(counts) == {
        "started": 5, "completed": 1, "failed": 1, "cancelled": 1, "retried": 1, "rescheduled": 1
    }  # fmt: skip
    assert (counts.waits.count, counts.runs.count) == (5, 5)


async def released_and_mismatched_attempts_are_not_counted(harness: Harness) -> None:
    await harness.settled(released(await harness.claimed()))
    await harness.settled(mismatched(await harness.claim_one(), delay=0))

    assert _numbers(await _total(harness)) == {"started": 1}

    await harness.settled(finally_mismatched(await harness.claim_one()))
    counts = await _total(harness)
    assert _numbers(counts) == {"started": 1, "failed": 1}
    assert (counts.waits.count, counts.runs.count) == (0, 0)


async def a_reaped_attempt_is_counted_and_the_failure_of_the_last_one_too(harness: Harness) -> None:
    await harness.claimed(new_job(max_attempts=2))
    await harness.expire()
    await harness.reap()
    assert _numbers(await _total(harness)) == {"started": 1, "reaped": 1}

    await harness.claim_one()
    await harness.expire()
    await harness.reap()

    counts = await _total(harness)
    assert _numbers(counts) == {"started": 1, "reaped": 2, "failed": 1}
    assert counts.runs.count == 0


async def cancelling_and_completing_from_outside_are_counted(harness: Harness) -> None:
    running, waiting = await harness.claimed(), await harness.started()
    await harness.perform(CancelChains((running.id, waiting.id)))
    await harness.perform(CancelChains((running.id, waiting.id)))
    other = await harness.started()
    await harness.perform(Complete(other.id, other.id, (Completion(b"1", next_job(other)),), (), ()))

    assert _numbers(await _total(harness)) == {"started": 3, "cancelled": 2, "completed": 1}
    assert _numbers(await _total(harness, "publish")) == {"started": 1}


async def every_job_of_a_chain_is_counted_under_its_own_type(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job), starts=(new_job("ship"),)))

    assert _numbers(await _total(harness)) == {"started": 1, "completed": 1}
    assert _numbers(await _total(harness, "publish")) == {"started": 1}
    assert _numbers(await _total(harness, "ship")) == {"started": 1}


async def a_failed_blocker_counts_its_dependents_as_failed(harness: Harness) -> None:
    blocker = await harness.claimed()
    first = new_job("publish", after=(blocker.id,), on_blocker_failure="fail")
    await harness.start(first, new_job("publish", after=(first.id,), on_blocker_failure="fail"))
    await harness.settled(failed(blocker))
    await harness.start(new_job("publish", after=(blocker.id,), on_blocker_failure="fail"))

    assert _numbers(await _total(harness, "publish")) == {"started": 3, "failed": 3}
    group = (await harness.perform(GetErrors(types=("publish",))))[0]
    assert (group.group.fingerprint, group.failed, group.retried) == ("BlockerFailed:publish", 3, 0)


async def a_deduplicated_start_is_not_counted(harness: Harness) -> None:
    await harness.start(new_job(key="a"))
    await harness.start(new_job(key="a"), new_job(key="b"))

    assert _numbers(await _total(harness)) == {"started": 2}


async def a_settlement_that_is_sent_again_is_counted_once(harness: Harness) -> None:
    first, second = await harness.claimed(), await harness.claimed()
    settlements = completed(first), failed(second)
    await harness.settle(*settlements)
    await harness.perform(Settle(settlements, again=True))
    await harness.settle(settlements[1], settlements[1])

    assert _numbers(await _total(harness)) == {"started": 2, "completed": 1, "failed": 1}


async def a_settlement_with_a_lost_claim_is_not_counted(harness: Harness) -> None:
    stale = await harness.claimed()
    await harness.expire()
    await harness.reap()
    await harness.claim_one()
    await harness.settle(completed(stale))

    assert _numbers(await _total(harness)) == {"started": 1, "reaped": 1}


async def a_start_in_a_transaction_is_counted_with_its_commit(harness: Harness) -> None:
    tx = await harness.begin()
    await tx.perform(Start((new_job(),)))
    await tx.rollback()
    assert _numbers(await _total(harness)) == {}

    tx = await harness.begin()
    await tx.perform(Start((new_job(),)))
    await tx.commit()
    assert _numbers(await _total(harness)) == {"started": 1}


async def minutes_are_separate_and_end_after_a_day(harness: Harness) -> None:
    begun = minute_of(harness.clock())
    await harness.completed()
    harness.clock.advance(60)
    await harness.completed()
    await harness.completed()

    counters = await harness.perform(GetCounters(last=5 * MINUTE))
    assert {place: _numbers(counts) for place, counts in counters.minutes.items()} == {
        ("resize", begun): {"started": 1, "completed": 1},
        ("resize", begun + 1): {"started": 2, "completed": 2},
    }
    assert set((await harness.perform(GetCounters(last=MINUTE))).minutes) == {("resize", begun + 1)}
    assert set((await harness.perform(GetCounters(since=harness.clock()))).minutes) == {("resize", begun + 1)}

    harness.clock.advance(24 * 3600)
    await harness.perform(Prune(100))
    counters = await harness.perform(GetCounters())
    assert counters.minutes == {}
    assert _numbers(counters.totals["resize"]) == {"started": 3, "completed": 3}


async def waiting_and_run_times_are_counted_in_buckets(harness: Harness) -> None:
    await harness.start(new_job(delay=10))
    harness.clock.advance(12)
    job = await harness.claim_one()
    harness.clock.advance(0.25)
    await harness.settled(completed(job))

    counts = await _total(harness)

    assert (counts.waits.total, counts.runs.total) == (2_000_000, 250_000)
    assert [bucket for bucket, number in enumerate(counts.waits.counts) if number] == [8]
    assert [bucket for bucket, number in enumerate(counts.runs.counts) if number] == [5]


async def deleting_and_pruning_jobs_changes_no_counter(harness: Harness) -> None:
    job = await harness.completed(new_job(keep=1))
    other = await harness.completed()
    before = await _total(harness)

    await harness.perform(Delete((other.id,)))
    harness.clock.advance(2)
    assert await harness.perform(Prune(100)) == [job.id]

    assert await _total(harness) == before


async def adding_up_many_changes_keeps_every_number(harness: Harness) -> None:
    types = [f"type-{number}" for number in range(250)]
    for _ in range(2):
        await harness.start(*[new_job(type) for type in types], *[new_job(type) for type in types])
        jobs = await harness.claim(*types, limit=500)
        assert len(jobs) == 500
        await harness.settle(*[completed(job) if index % 2 else grouped_failure(job) for index, job in enumerate(jobs)])
        before, errors = await harness.perform(GetCounters()), await harness.perform(GetErrors(limit=1000))
        await harness.perform(Prune(100))
        assert await harness.perform(GetCounters()) == before
        assert await harness.perform(GetErrors(limit=1000)) == errors
        harness.clock.advance(60)

    totals = (await harness.perform(GetCounters())).totals
    assert set(totals) == set(types)
    assert sum(each.completed for each in totals.values()) == sum(each.failed for each in totals.values()) == 500
    assert all(each.started == each.runs.count == 4 for each in totals.values())


async def workers_that_settle_and_prune_at_the_same_time_are_counted_exactly(harness: Harness) -> None:
    other = await harness.second_store()
    types = [f"type-{number}" for number in range(40)]
    await harness.start(*[new_job(type) for type in types for _ in range(10)])

    await harness.race(
        [*[_work(each, types) for each in (harness, other, other, harness)], _prune(harness), _prune(other)]
    )
    # A claim that meets only jobs which others are claiming returns none, so all of the workers may have ended early.
    await _work(harness, types)

    totals = (await harness.perform(GetCounters())).totals
    assert {_type: _numbers(counts) for _type, counts in totals.items()} == {
        type: {"started": 10, "completed": 10} for type in types
    }


def _numbers(counts: Counts) -> dict[str, int]:
    """The numbers that are not zero."""
    kinds = ("started", "completed", "failed", "retried", "reaped", "rescheduled", "cancelled")
    return {kind: number for kind in kinds if (number := getattr(counts, kind))}


async def _total(harness: Harness, type: str = "resize") -> Counts:
    counters = await harness.perform(GetCounters())
    return counters.totals.get(type, Counts())


async def _work(harness: Harness, types: list[str]) -> None:
    while jobs := await harness.claim(*types, limit=7):
        await harness.settle(*[completed(job) for job in jobs])


async def _prune(harness: Harness) -> None:
    for _ in range(10):
        await harness.perform(Prune(10))
