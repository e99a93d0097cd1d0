"""Collapsing starts: a start with the scope `waiting` changes the chain of its key that has not begun."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from holdfast.core.clock import SECOND
from holdfast.core.details import epoch_of
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record, Status
from holdfast.core.retry import Seconds
from holdfast.core.steps import Checkpoint
from holdfast.engine.operations import (
    GetCounters,
    GetStats,
    Listen,
    NextDue,
    PreviewStart,
    ReadEvents,
    SaveSteps,
    Settle,
    Start,
)
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness


async def a_pending_chain_takes_the_newest_input_and_options(harness: Harness) -> None:
    made = await harness.started(new_job(key="k", input=b"1", priority=3, delay=60, timeout=5, trace="old"))
    after = await harness.perform(Listen("me", 3600 * SECOND))
    harness.clock.advance(1)
    newest = _replacing(
        input=b"2", priority=7, delay=30, max_attempts=2, timeout=9, keep=77, trace="new", on_blocker_failure="fail"
    )

    assert await harness.perform(PreviewStart((newest,))) == [(made, made)]
    ((chain, deduplicated),) = await harness.start(newest)

    record = chain.last
    assert deduplicated
    assert chain.first == record == await harness.job(made.id)
    assert (record.id, record.seq, record.created_at) == (made.id, made.seq, made.created_at)
    assert (record.input, record.priority, record.max_attempts, record.trace) == (b"2", 7, 2, "new")
    assert (record.timeout, record.keep, record.on_blocker_failure) == (9 * SECOND, 77 * SECOND, "fail")
    assert record.scheduled_at == harness.clock() + 30 * SECOND
    assert await harness.everything() == [record]
    assert [(event.kind, event.job_id) for event in await harness.perform(ReadEvents(after, 9))] == [
        ("replaced", made.id)
    ]
    (stats,) = await harness.perform(GetStats())
    assert stats.counts == {Status.PENDING: 1}
    assert (await harness.perform(GetCounters())).totals["resize"].started == 1

    await harness.start(_replacing(input=b"3", priority=1), new_job(priority=5))
    assert await harness.perform(NextDue(("resize",))) == 0
    assert [job.input for job in await harness.claim(limit=9)] == [b"{}", b"3"]


async def a_retrying_chain_has_all_attempts_again(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k", max_attempts=1))
    settlement = retrying(job, delay=60)
    await harness.settled(settlement)

    record = await harness.started(_replacing(input=b"2"))

    assert (record.id, record.status, record.attempt, record.error) == (job.id, Status.PENDING, 0, None)
    assert (record.max_attempts, record.started_at, record.scheduled_at) == (None, None, harness.clock())
    assert [past.number for past in await harness.past(job.id)] == [1]
    await harness.settled(settlement)  # sent again: it was written
    again = await harness.claim_one(max_attempts=9)
    assert (again.attempt, again.max_attempts, again.input) == (1, 9, b"2")


async def a_chain_that_has_stored_a_step_is_left_alone_and_its_step_ids_change_after_an_attempt(
    harness: Harness,
) -> None:
    job = await harness.claimed(new_job(key="k"))
    await harness.settled(retrying(job))
    again = await harness.started(_replacing(trace="new", delay=1))
    assert (again.id, epoch_of(again.details), again.trace) == (job.id, 1, "new")
    assert epoch_of((await harness.started(_replacing())).details) == 1

    running = await harness.claim_one()
    checkpoint = Checkpoint(running.claim, "charge", "", "step", 0, 1, 1, result=b"1")
    assert await harness.perform(SaveSteps((checkpoint,))) == [None]
    await harness.settled(retrying(running))

    ((other, deduplicated),) = await harness.start(_replacing(input=b"2"))
    assert (deduplicated, other.first.id == job.id) == (False, False)


async def a_chain_that_runs_is_left_alone_and_one_that_has_not_begun_may_follow(harness: Harness) -> None:
    first = await harness.claimed(new_job(key="k", input=b"1"))

    ((second, deduplicated),) = await harness.start(_replacing(input=b"2", delay=60))
    assert not deduplicated
    assert await harness.job(first.id) == first
    assert await _found(harness, new_job(key="k")) == second.first.id
    assert await _found(harness, _replacing(input=b"3")) == second.first.id

    # The first waits for another attempt: the newest chain is replaced.
    await harness.settled(retrying(first, delay=60))
    assert await _found(harness, _replacing(input=b"4")) == second.first.id
    assert (await harness.claim_one()).input == b"4"
    # The second runs: only the first can be replaced, so that there are not three.
    assert await _found(harness, _replacing(input=b"5")) == first.id
    running = await harness.claim_one()
    assert (running.id, running.input) == (first.id, b"5")

    # A chain past its first job is not changed.
    await harness.settled(continued(running, next_job(running, input=b"next")))
    third = await harness.started(_replacing(input=b"6"))
    assert third.id not in (first.id, second.first.id)
    assert (await harness.chain(first.id)).last.input == b"next"
    assert (await harness.job(first.id)).input == b"5"


async def finished_chains_and_chains_outside_of_window_and_exclusions_are_not_replaced(harness: Harness) -> None:
    done = await harness.completed(new_job(key="k"))
    lost = await harness.claimed(new_job(key="k"))
    await harness.settled(failed(lost))

    waiting = await harness.started(_replacing(delay=60))
    assert waiting.id not in (done.id, lost.id)
    harness.clock.advance(10)
    assert await _found(harness, _replacing(window=11)) == waiting.id
    assert not await _found(harness, _replacing(window=10, delay=60))
    assert not await _found(harness, _replacing("publish"))
    assert not await _found(harness, _replacing(key="other"))
    ((chain, _),) = await harness.start(_replacing(exclude=(waiting.id,), input=b"2"))
    assert chain.first.id != waiting.id
    assert (await harness.job(waiting.id)).input == b"{}"


async def a_start_that_is_sent_again_changes_nothing_and_a_batch_may_replace_its_own_chain(harness: Harness) -> None:
    one, two = _replacing(input=b"1", delay=9), _replacing(input=b"2", delay=9)
    plain = new_job("other")
    answers = await harness.start(one, plain, two, new_job(key="k"))
    assert [(each.chain.first.id, each.deduplicated) for each in answers] == [
        (one.id, False), (plain.id, False), (one.id, True), (one.id, True)
    ]  # fmt: skip
    assert {each.chain.first.input for each in answers[2:]} == {b"2"}

    ((chain, deduplicated),) = await harness.start(replace(one, chosen=True, input=b"1 again"))

    assert (chain.first.id, chain.first.input, deduplicated) == (one.id, b"2", True)
    assert len(await harness.everything()) == 2

    # An id that occurs twice in a batch is found, also if its second job names other blockers.
    new = new_job(id="twice")
    answers = await harness.start(new, replace(new, after=("nothing",)))
    assert [each.deduplicated for each in answers] == [False, True]


async def a_chain_is_due_at_most_so_long_after_its_creation(harness: Harness) -> None:
    created = (await harness.started(_debounced(5, 12))).created_at
    for second in (4, 4, 3):
        harness.clock.advance(second)
        job = await harness.started(_debounced(5, 12))
        assert job.scheduled_at == min(harness.clock() + 5 * SECOND, created + 12 * SECOND)
        assert await harness.claim() == []
    harness.clock.advance(1)
    running = await harness.claim_one()

    # After an attempt the time counts from the next start.
    await harness.settled(retrying(running, delay=600))
    harness.clock.advance(100)
    again = harness.clock()
    for second in (0, 4, 4, 3):
        harness.clock.advance(second)
        job = await harness.started(_debounced(5, 12))
        assert (job.id, job.scheduled_at) == (running.id, min(harness.clock() + 5 * SECOND, again + 12 * SECOND))
    harness.clock.advance(500)
    assert (await harness.started(_debounced(5, 12))).scheduled_at == harness.clock()


async def a_replacement_is_part_of_a_transaction(harness: Harness) -> None:
    waiting = await harness.started(new_job("side", key="k", input=b"1", delay=60))
    for input, commits in ((b"2", False), (b"3", True)):
        job = await harness.claimed()
        tx = await harness.begin()
        ((chain, deduplicated),) = await tx.perform(Start((_replacing("side", input=input),)))
        assert (chain.first.id, chain.first.input, deduplicated) == (waiting.id, input, True)
        ((chain, _),) = await tx.perform(Start((_replacing("side", input=input + b"0"),)))
        assert (chain.first.id, chain.first.input) == (waiting.id, input + b"0")
        if commits:
            (answer,) = await tx.perform(Settle((completed(job),)))
            assert (answer.lost, answer.refused) == (None, None)
            await tx.commit()
        else:
            await tx.rollback()
            assert await harness.job(waiting.id) == waiting
            await harness.settled(completed(job))

    assert (await harness.claim_one("side")).input == b"30"
    assert Counter(job.type for job in await harness.everything()) == {"resize": 2, "side": 1}


async def concurrent_starts_and_claims_leave_one_chain_that_has_not_begun(harness: Harness) -> None:
    other = await harness.second_store()
    blocker = await harness.claimed(new_job("blocker"))
    await harness.start(new_job(key="k", input=b"first", after=(blocker.id,)))
    stores = [harness, other]
    starts = [_start(stores[n % 2], b"%d" % n) for n in range(64)]
    claims = [_claim(stores[n % 2]) for n in range(8)]

    answers = await harness.race([*starts, *claims, _settle(other, blocker)])

    jobs = [job for job in await harness.everything() if job.type == "resize"]
    reported = [answer for answer in answers if isinstance(answer, list)]
    assert len(reported) == len(answers)
    created = [text for answer in reported for text in answer if text.startswith(b"created ")]
    claimed = [text.removeprefix(b"claimed ") for answer in reported for text in answer if text.startswith(b"claimed ")]
    assert len(created) == len(set(created)) == len(jobs) - 1
    running = [job for job in jobs if job.status is Status.RUNNING]
    waiting = [job for job in jobs if job.status is Status.PENDING]
    assert sorted(job.input for job in running) == sorted(claimed)
    assert len(running) + len(waiting) == len(jobs)
    assert len(waiting) <= 1
    assert len(await harness.claim(limit=99)) == len(waiting)


def _replacing(type: str = "resize", *, key: str = "k", **options: Any) -> NewJob:
    """A start with `replace=True`."""
    return new_job(type, key=key, dedup="waiting", **options)


def _debounced(debounce: Seconds, longest: Seconds) -> NewJob:
    return _replacing(delay=debounce, due_within=longest)


async def _found(harness: Harness, job: NewJob) -> str | None:
    """The id of the chain that the start returned, if it was not created."""
    ((chain, deduplicated),) = await harness.start(job)
    return chain.first.id if deduplicated else None


async def _start(harness: Harness, input: bytes) -> list[bytes]:
    ((chain, deduplicated),) = await harness.start(_replacing(input=input))
    return [] if deduplicated else [b"created " + chain.first.id.encode()]


async def _claim(harness: Harness) -> list[bytes]:
    return [b"claimed " + job.input for job in await harness.claim()]


async def _settle(harness: Harness, job: Record) -> list[bytes]:
    await harness.settled(completed(job))
    return []
