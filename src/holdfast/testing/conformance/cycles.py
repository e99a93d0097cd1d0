"""Dependency cycles: chains that wait for each other would never start."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import Status
from holdfast.core.waiting_cycles import MOST_CHAINS
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    GetWaiting,
    RetryJobs,
    Start,
    Waiting,
)
from holdfast.errors import ChainNotFound, DependencyCycle
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.builders import cycle_of, waiting_cycles
from holdfast.testing.conformance.harness import Harness


async def a_continuation_that_waits_for_its_own_chain_is_refused(harness: Harness) -> None:
    job = await harness.claimed()

    assert await _refused(harness, continued(job, next_job(job, after=(job.id,)))) == [job.id]

    await harness.settled(completed(job))


async def a_continuation_that_waits_for_a_chain_which_waits_for_its_own_is_refused(harness: Harness) -> None:
    job = await harness.claimed()
    waiting = await harness.started(new_job(after=(job.id,)))

    assert await _refused(harness, continued(job, next_job(job, after=(waiting.id,)))) == [job.id, waiting.id]

    await harness.settled(completed(job))
    assert (await harness.claim_one()).id == waiting.id


async def a_longer_cycle_is_refused_and_its_chains_are_listed_in_order(harness: Harness) -> None:
    job, aside = await harness.claimed(), await harness.started(new_job("aside"))
    ids = [job.id]
    for _ in range(6):
        ids.append((await harness.started(new_job(after=(aside.id, ids[-1])))).id)

    cycle = await _refused(harness, continued(job, next_job(job, after=(aside.id, ids[-1]))))

    assert cycle == [job.id, *reversed(ids[1:])]


async def a_cycle_through_continuations_is_refused(harness: Harness) -> None:
    one, two, three = [await harness.claimed() for _ in range(3)]
    await harness.settled(continued(one, next_job(one, after=(two.id,))))
    await harness.settled(continued(two, next_job(two, after=(three.id,))))

    assert await _refused(harness, continued(three, next_job(three, after=(one.id,)))) == [three.id, one.id, two.id]


async def a_continuation_that_waits_for_a_side_chain_which_waits_for_its_own_is_refused(harness: Harness) -> None:
    job = await harness.claimed()
    side = new_job("side", after=(job.id,))
    further = new_job("side", after=(side.id,))

    cycle = await _refused(harness, continued(job, next_job(job, after=(further.id,)), starts=(side, further)))

    assert cycle == [job.id, further.id, side.id]


async def an_existing_side_chain_is_checked_with_its_stored_blockers(harness: Harness) -> None:
    existing = await harness.started(new_job("side", key="k"))
    job = await harness.claimed()
    side = new_job("side", id=existing.id, after=(job.id,))

    await harness.settled(continued(job, next_job(job, after=(existing.id,)), starts=(side,)))

    assert (await harness.chain(job.id)).last.status is Status.BLOCKED
    await harness.settled(completed(await harness.claim_one("side")))
    assert (await harness.chain(job.id)).last.status is Status.PENDING


async def the_first_of_two_settlements_that_close_a_cycle_in_one_batch_is_written(harness: Harness) -> None:
    one, two, other = [await harness.claimed() for _ in range(3)]

    first, second, third = await harness.settle(
        continued(one, next_job(one, after=(two.id,))),
        continued(two, next_job(two, after=(one.id,))),
        completed(other),
    )

    assert (first.written, third.written) == (True, True)
    assert cycle_of(second) == [two.id, one.id]
    assert (await harness.job(two.id)).status is Status.RUNNING


async def a_completion_from_outside_that_would_close_a_cycle_raises(harness: Harness) -> None:
    job = await harness.started()
    waiting = await harness.started(new_job(after=(job.id,)))
    side = new_job("side", after=(waiting.id,))
    before = await harness.everything()

    for after, starts, cycle in (
        ((job.id,), (), [job.id]),
        ((waiting.id,), (), [job.id, waiting.id]),
        ((side.id,), (side,), [job.id, side.id, waiting.id]),
    ):
        completions = (Completion(continuation=next_job(job, after=after)),)
        complete = Complete(job.id, job.id, completions, starts, tuple(start.id for start in starts))
        assert (await harness.refused(DependencyCycle, complete)).chain_ids == cycle

    assert await harness.everything() == before
    await harness.perform(Complete(job.id, job.id, (Completion(output=b"1"),)))
    assert (await harness.job(waiting.id)).status is Status.PENDING


async def a_side_chain_of_the_same_transaction_counts_too(harness: Harness) -> None:
    job = await harness.started()
    side = new_job("side", after=(job.id,))
    before = await harness.everything()

    tx = await harness.begin()
    await tx.perform(Start((side,)))
    completions = (Completion(continuation=next_job(job, after=(side.id,))),)
    refused = await tx.refused(DependencyCycle, Complete(job.id, job.id, completions))
    await tx.rollback()

    assert refused.chain_ids == [job.id, side.id]
    assert await harness.everything() == before


async def a_retry_that_would_close_a_cycle_raises(harness: Harness) -> None:
    job = await harness.claimed()
    waiting = await harness.started(new_job(after=(job.id,)))
    await harness.perform(CancelChains((waiting.id,)))
    await harness.settled(continued(job, next_job(job, after=(waiting.id,))))
    before = await harness.everything()

    refused = await harness.refused(DependencyCycle, RetryJobs((waiting.id,)))

    assert refused.chain_ids == [waiting.id, job.id]
    assert await harness.everything() == before
    await harness.perform(CancelChains((job.id,)))
    (retried,) = await harness.perform(RetryJobs((waiting.id,)))
    assert retried.status is Status.BLOCKED


async def two_retries_that_would_close_a_cycle_together_raise(harness: Harness) -> None:
    job = await harness.claimed()
    waiting = await harness.started(new_job(after=(job.id,)))
    await harness.perform(CancelChains((waiting.id,)))
    await harness.settled(continued(job, next_job(job, after=(waiting.id,))))
    last = (await harness.chain(job.id)).last
    await harness.perform(CancelChains((job.id,)))
    before = await harness.everything()

    refused = await harness.refused(DependencyCycle, RetryJobs((waiting.id, last.id)))

    assert sorted(refused.chain_ids) == sorted([waiting.id, job.id])
    assert await harness.everything() == before


async def a_chain_may_wait_for_a_chain_that_no_longer_waits_for_it(harness: Harness) -> None:
    job = await harness.claimed()
    cancelled = await harness.started(new_job(after=(job.id,)))
    await harness.perform(CancelChains((cancelled.id,)))
    passed = await harness.started(new_job(after=(job.id,)))
    await harness.perform(Complete(passed.id, passed.id, (Completion(continuation=next_job(passed)),)))

    await harness.settled(continued(job, next_job(job, after=(cancelled.id, passed.id))))

    assert (await harness.chain(job.id)).last.status is Status.BLOCKED


async def two_paths_to_the_same_chain_are_not_a_cycle(harness: Harness) -> None:
    root = await harness.started(new_job("root"))
    left, right = [await harness.started(new_job(after=(root.id,))) for _ in range(2)]
    job = await harness.claimed()
    await harness.started(new_job("dependent", after=(job.id,)))

    await harness.settled(continued(job, next_job(job, after=(left.id, right.id, root.id))))

    assert (await harness.chain(job.id)).last.open_blockers == 3


async def a_start_cannot_name_itself_or_a_later_one_of_its_batch(harness: Harness) -> None:
    one, two = new_id(), new_id()

    await harness.refused(ChainNotFound, Start((new_job(id=one, after=(one,)),)))
    await harness.refused(ChainNotFound, Start((new_job(id=one, after=(two,)), new_job(id=two, after=(one,)))))

    assert await harness.everything() == []


async def a_cycle_beyond_the_search_limit_is_accepted_and_can_be_listed(harness: Harness) -> None:
    job = await harness.claimed()
    chains: list[NewJob] = []
    for _ in range(MOST_CHAINS + 2):
        chains.append(new_job(after=(chains[-1].id if chains else job.id,)))
    await harness.start(*chains)

    await harness.settled(continued(job, next_job(job, after=(chains[-1].id,))))

    (cycle,) = await waiting_cycles(harness)
    assert sorted(cycle) == sorted([job.id, *(chain.id for chain in chains)])


async def waiting_chains_are_returned_oldest_first_up_to_a_limit(harness: Harness) -> None:
    one, two = await harness.started(), await harness.completed(new_job("other"))
    first = await harness.started(new_job(after=(two.id, one.id)))
    second = await harness.started(new_job(after=(first.id, first.id)))
    await harness.perform(CancelChains(((await harness.started(new_job(after=(one.id,)))).id,)))

    waiting = await harness.perform(GetWaiting(10))

    assert waiting == [Waiting(first.id, (two.id, one.id)), Waiting(second.id, (first.id, first.id))]
    assert await harness.perform(GetWaiting(1)) == waiting[:1]


async def _refused(harness: Harness, settlement: Settlement) -> list[str]:
    """Settle a continuation that would close a cycle. Nothing may change. Returns the cycle."""
    before = await harness.everything()
    (answer,) = await harness.settle(settlement)
    assert await harness.everything() == before
    return cycle_of(answer)
