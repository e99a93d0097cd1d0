"""Deduplication: a start with a key returns an existing chain, also when many callers start at once."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record, Status
from holdfast.engine.operations import CancelChains, Delete, Prune, RetryJobs, Started
from holdfast.errors import HoldfastError
from holdfast.testing.builders import cancelled, completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness


async def a_key_returns_its_unfinished_chain_and_nothing_is_written(harness: Harness) -> None:
    made = await harness.started(new_job(key="k", input=b"1"))
    harness.clock.advance(1)

    ((chain, deduplicated),) = await harness.start(new_job(key="k", input=b"2", priority=9))

    assert deduplicated
    assert chain == (made, made)
    assert await harness.everything() == [made]


async def a_key_belongs_to_a_type(harness: Harness) -> None:
    await harness.start(new_job("resize", key="k"))

    assert not await _found(harness, new_job("publish", key="k"))


async def chains_with_another_key_or_without_a_key_do_not_match(harness: Harness) -> None:
    await harness.start(new_job(key="k"), new_job())

    assert not await _found(harness, new_job(key="K"))
    assert not await _found(harness, new_job())


async def a_running_or_retrying_or_blocked_chain_is_incomplete(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k"))
    assert await _found(harness, new_job(key="k")) == job.id

    await harness.settled(retrying(job, delay=60))
    assert await _found(harness, new_job(key="k")) == job.id

    waiting = await harness.started(new_job("publish", key="k", after=(job.id,)))
    assert waiting.status is Status.BLOCKED
    assert await _found(harness, new_job("publish", key="k")) == waiting.id


async def a_chain_at_its_second_job_is_incomplete(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k"))
    await harness.settled(continued(job, next_job(job, "publish")))
    assert await _found(harness, new_job(key="k")) == job.id

    second = await harness.claim_one("publish")
    assert await _found(harness, new_job(key="k")) == job.id

    blocker = await harness.started(new_job("other"))
    await harness.settled(continued(second, next_job(second, "ship", after=(blocker.id,))))
    assert (await harness.chain(job.id)).last.status is Status.BLOCKED
    assert await _found(harness, new_job(key="k")) == job.id


async def a_chain_is_not_found_by_the_type_of_its_second_job(harness: Harness) -> None:
    job = await harness.claimed(new_job("resize", key="k"))
    await harness.settled(continued(job, next_job(job, "publish")))

    assert not await _found(harness, new_job("publish", key="k"))


async def the_key_of_a_continuation_does_not_match(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job, "publish", key="k")))

    assert not await _found(harness, new_job("publish", key="k"))


async def the_incomplete_scope_does_not_contain_finished_chains(harness: Harness) -> None:
    for settle in (completed, failed, cancelled):
        job = await harness.claimed(new_job(key="k"))
        await harness.settled(settle(job))

        assert not await _found(harness, new_job(key="k", delay=3600))
        await harness.perform(CancelChains(((await _newest(harness)).id,)))


async def the_any_scope_contains_finished_chains(harness: Harness) -> None:
    for settle in (completed, failed, cancelled):
        job = await harness.claimed(new_job(key=settle.__name__))
        await harness.settled(settle(job))

        assert await _found(harness, new_job(key=settle.__name__, dedup="any")) == job.id


async def the_successful_scope_contains_unfinished_and_completed_chains(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k"))
    assert await _found(harness, new_job(key="k", dedup="successful")) == job.id

    await harness.settled(completed(job))
    assert await _found(harness, new_job(key="k", dedup="successful")) == job.id

    for settle in (failed, cancelled):
        job = await harness.claimed(new_job(key=settle.__name__))
        await harness.settled(settle(job))
        assert not await _found(harness, new_job(key=settle.__name__, dedup="successful", delay=3600))


async def the_successful_scope_does_not_contain_chains_whose_keep_time_is_over(harness: Harness) -> None:
    job = await harness.completed(new_job(key="k", keep=60))

    harness.clock.advance(59.999999)
    assert await _found(harness, new_job(key="k", dedup="successful")) == job.id
    harness.clock.advance(0.000001)
    assert not await _found(harness, new_job(key="k", dedup="successful"))


async def the_successful_scope_skips_a_failed_chain_and_finds_an_older_completed_one(harness: Harness) -> None:
    done = await harness.completed(new_job(key="k"))
    lost = await harness.claimed(new_job(key="k"))
    await harness.settled(failed(lost))

    assert await _found(harness, new_job(key="k", dedup="successful")) == done.id


async def a_retried_chain_is_incomplete_again(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k"))
    await harness.settled(failed(job))
    await harness.perform(RetryJobs((job.id,)))

    assert await _found(harness, new_job(key="k")) == job.id


async def the_newest_of_several_matching_chains_is_returned(harness: Harness) -> None:
    first = await harness.completed(new_job(key="k"))
    second = await harness.completed(new_job(key="k"))

    assert await _found(harness, new_job(key="k", dedup="any")) == second.id
    assert await _found(harness, new_job(key="k", dedup="any", exclude=(second.id,))) == first.id


async def excluded_chains_do_not_match(harness: Harness) -> None:
    first = await harness.started(new_job(key="k"))

    second = new_job(key="k", exclude=(first.id, new_id()))
    assert not await _found(harness, second)
    assert await _found(harness, new_job(key="k", exclude=(first.id,))) == second.id
    assert await _found(harness, new_job(key="k", exclude=(second.id,))) == first.id


async def a_window_finds_only_chains_that_were_created_within_it(harness: Harness) -> None:
    job = await harness.started(new_job(key="k"))

    harness.clock.advance(59.999999)
    assert await _found(harness, new_job(key="k", window=60)) == job.id
    harness.clock.advance(0.000001)
    assert not await _found(harness, new_job(key="k", window=60))


async def a_window_limits_the_any_scope_too(harness: Harness) -> None:
    job = await harness.completed(new_job(key="k"))

    harness.clock.advance(30)
    assert await _found(harness, new_job(key="k", dedup="any", window=60)) == job.id
    harness.clock.advance(31)
    assert not await _found(harness, new_job(key="k", dedup="any", window=60))


async def a_window_of_zero_finds_nothing(harness: Harness) -> None:
    await harness.start(new_job(key="k"))

    answers = await harness.start(new_job(key="k", window=0), new_job(key="k", window=0))

    assert [deduplicated for _, deduplicated in answers] == [False, False]


async def the_same_key_twice_in_a_batch_creates_one_chain(harness: Harness) -> None:
    first = new_job(key="k")

    answers = await harness.start(first, new_job(key="k"), new_job(key="other"), new_job(key="k", dedup="any"))

    assert [deduplicated for _, deduplicated in answers] == [False, True, False, True]
    assert [chain.first.id for chain, _ in answers[:2]] == [first.id, first.id]
    assert len(await harness.everything()) == 2


async def within_a_batch_the_newest_chain_that_is_not_excluded_is_returned(harness: Harness) -> None:
    stored = await harness.started(new_job(key="k"))
    first = new_job(key="k", exclude=(stored.id,))
    second = new_job(key="k", exclude=(stored.id, first.id))

    answers = await harness.start(
        first, new_job(key="k"), second, new_job(key="k"), new_job(key="k", exclude=(second.id,))
    )

    assert [chain.first.id for chain, _ in answers] == [first.id, first.id, second.id, second.id, first.id]
    assert [deduplicated for _, deduplicated in answers] == [False, True, False, True, True]


async def an_existing_id_is_found_before_a_key(harness: Harness) -> None:
    keyed = await harness.started(new_job(key="k"))
    named = await harness.started(new_job())

    assert await _found(harness, new_job(id=named.id, key="k")) == named.id
    assert await _found(harness, new_job(key="k")) == keyed.id


async def a_start_that_finds_a_chain_is_not_checked_for_unknown_blockers(harness: Harness) -> None:
    job = await harness.started(new_job(key="k"))

    assert await _found(harness, new_job(key="k", after=(new_id(),))) == job.id


async def a_deleted_or_pruned_chain_is_not_found(harness: Harness) -> None:
    deleted = await harness.started(new_job(key="k"))
    await harness.perform(Delete((deleted.id,)))
    assert not await _found(harness, new_job("other", key="k", dedup="any"))

    pruned = await harness.completed(new_job(key="k", keep=1))
    harness.clock.advance(2)
    assert await harness.perform(Prune(10)) == [pruned.id]
    assert not await _found(harness, new_job(key="k", dedup="any"))


async def one_of_64_concurrent_starts_with_the_same_key_creates_the_chain(harness: Harness) -> None:
    other = await harness.second_store()
    for number in range(3):
        jobs = [new_job(key=f"k{number}") for _ in range(64)]
        pairs = zip(jobs, [harness, other] * 32, strict=True)

        answers = await harness.race([g.start(job) for job, g in pairs])

        _one_created(answers, losers=63)
    assert len(await harness.everything()) == 3


async def one_of_many_concurrent_starts_with_the_any_scope_creates_the_chain(harness: Harness) -> None:
    other = await harness.second_store()
    for number in range(3):
        jobs = [new_job(key=f"k{number}", dedup="any", window=60) for _ in range(16)]
        pairs = zip(jobs, [harness, other] * 8, strict=True)

        answers = await harness.race([g.start(job) for job, g in pairs])

        _one_created(answers, losers=15)


async def concurrent_batches_with_the_same_keys_in_opposite_order_create_one_chain_per_key(harness: Harness) -> None:
    other = await harness.second_store()
    keys = [f"k{number}" for number in range(20)]
    batches = [[new_job(key=key) for key in (keys if turn % 2 else reversed(keys))] for turn in range(8)]
    pairs = zip(batches, [harness, other] * 4, strict=True)

    answers = await harness.race([g.start(*jobs) for jobs, g in pairs])

    created = [
        started for answer in answers if isinstance(answer, list) for started in answer if not started.deduplicated
    ]
    assert sorted(started.chain.first.key or "" for started in created) == sorted(keys)
    assert len(await harness.everything()) == len(keys)


def _one_created(answers: list[list[Started] | HoldfastError], *, losers: int) -> None:
    started = [answer[0] for answer in answers if isinstance(answer, list)]
    assert len(started) == len(answers)
    assert sum(not one.deduplicated for one in started) == 1
    assert sum(one.deduplicated for one in started) == losers
    assert len({one.chain.first.id for one in started}) == 1


async def _found(harness: Harness, job: NewJob) -> str | None:
    """The id of the chain that a start of this job returns; None if it creates one."""
    ((chain, deduplicated),) = await harness.start(job)
    return chain.first.id if deduplicated else None


async def _newest(harness: Harness) -> Record:
    return (await harness.everything())[0]
