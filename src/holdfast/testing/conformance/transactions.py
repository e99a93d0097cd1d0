"""Transactions of the store: visible after the commit, without effect after a rollback."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    GetChains,
    GetJobs,
    Guard,
    LockChain,
    Settle,
    Start,
)
from holdfast.errors import AlreadyCompleted, ChainNotFound, ClaimLost, Conflict
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def operations_in_a_transaction_are_visible_after_the_commit(harness: Harness) -> None:
    job, side = await harness.claimed(), new_job("side")

    tx = await harness.begin()
    await tx.perform(Guard(job.claim))
    ((chain, deduplicated),) = await tx.perform(Start((side,)))
    (answer,) = await tx.perform(Settle((continued(job, next_job(job)),)))
    await tx.commit()

    assert (chain.first.id, deduplicated) == (side.id, False)
    assert answer.written
    assert (await harness.chain(job.id)).last.type == "publish"
    assert (await harness.job(side.id)).status is Status.PENDING


async def a_settlement_that_may_commit_its_transaction_is_written_once(harness: Harness) -> None:
    job, continuing, side = await harness.claimed(), await harness.claimed(), new_job("side")

    tx = await harness.begin_lazily()
    await tx.perform(Guard(job.claim))
    await tx.perform(Start((side,)))
    ending = await tx.perform(Settle((completed(job, b"7"),), commits=True))
    await tx.commit()
    tx = await harness.begin_lazily()
    await tx.perform(Guard(continuing.claim))
    following = await tx.perform(Settle((continued(continuing, next_job(continuing)),), commits=True))
    await tx.commit()

    assert [answer.written for answer in (*ending, *following)] == [True, True]
    assert (await harness.chain(job.id)).last.output == b"7"
    assert (await harness.chain(continuing.id)).last.type == "publish"
    assert (await harness.job(side.id)).status is Status.PENDING


async def a_settlement_that_may_commit_unblocks_a_chain_that_waits_since_the_guard(harness: Harness) -> None:
    job = await harness.claimed()
    dependent = new_job("side", after=(job.id,))

    tx = await harness.begin_lazily()
    await tx.perform(Guard(job.claim))
    await tx.perform(Start((dependent,)))
    (answer,) = await tx.perform(Settle((completed(job),), commits=True))
    await tx.commit()

    assert answer.written
    assert (await harness.job(dependent.id)).status is Status.PENDING


async def a_settlement_with_a_lost_claim_does_not_commit_its_transaction(harness: Harness) -> None:
    job, side = await harness.claimed(), new_job("side")
    await harness.perform(CancelChains((job.chain_id,)))

    tx = await harness.begin_lazily()
    await tx.perform(Start((side,)))
    (answer,) = await tx.perform(Settle((completed(job),), commits=True))
    await tx.rollback()

    assert answer.lost == "cancelled"
    assert await harness.perform(GetChains((side.id,))) == [None]


async def a_start_in_a_transaction_is_visible_after_the_commit(harness: Harness) -> None:
    side, keyed = new_job("side"), new_job("side", key="k")

    tx = await harness.begin()
    await tx.perform(Start((side,)))
    await tx.perform(Start((keyed,)))
    await tx.commit()

    assert (await harness.job(side.id)).status is Status.PENDING
    assert (await harness.start(new_job("side", key="k")))[0].chain.first.id == keyed.id


async def a_start_in_a_transaction_has_no_effect_after_a_rollback(harness: Harness) -> None:
    job = await harness.claimed()
    before = await harness.everything()

    tx = await harness.begin()
    await tx.perform(Guard(job.claim))
    await tx.perform(Start((new_job("side"), new_job("side", key="k"))))
    await tx.rollback()

    assert await harness.everything() == before
    await harness.settled(completed(job))
    assert not (await harness.start(new_job("side", key="k")))[0].deduplicated


async def uncommitted_changes_are_not_visible_to_others(harness: Harness) -> None:
    other = await harness.second_store()
    job, side = await harness.claimed(), new_job("side")

    tx = await harness.begin()
    await tx.perform(Start((side,)))
    assert await other.perform(GetChains((side.id,))) == [None]
    await tx.perform(Settle((completed(job),)))
    await tx.commit()

    assert (await other.chain(side.id)).first.id == side.id


async def a_transaction_reads_committed_data(harness: Harness) -> None:
    job = await harness.started()

    tx = await harness.begin()
    found = await tx.perform(GetJobs((job.id, new_id())))
    await tx.rollback()

    assert found == [job, None]


async def a_stale_claim_is_refused_before_anything_is_written(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(CancelChains((job.id,)))

    tx = await harness.begin()
    error = await tx.refused(ClaimLost, Guard(job.claim))
    await tx.rollback()

    assert (error.job_id, error.reason) == (job.id, "cancelled")


async def a_stale_claim_settles_nothing(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(CancelChains((job.id,)))
    before = await harness.everything()

    tx = await harness.begin()
    await tx.perform(Start((new_job("side"),)))
    (answer,) = await tx.perform(Settle((completed(job),)))
    await tx.rollback()

    assert answer.lost == "cancelled"
    assert await harness.everything() == before


async def a_transaction_finds_a_key_as_a_plain_start_does(harness: Harness) -> None:
    made = await harness.started(new_job("side", key="k"))
    job, fresh = await harness.claimed(), new_job("side", key="fresh")

    tx = await harness.begin()
    found = await tx.perform(Start((new_job("side", key="k"), fresh)))
    again = await tx.perform(Start((new_job("side", key="fresh"),)))
    await tx.perform(Settle((completed(job),)))
    await tx.commit()

    assert [(one.chain.first.id, one.deduplicated) for one in found + again] == [
        (made.id, True),
        (fresh.id, False),
        (fresh.id, True),
    ]
    assert len(await harness.everything()) == 3


async def a_completion_from_outside_is_part_of_the_transaction(harness: Harness) -> None:
    job, side = await harness.started(), new_job("side")

    tx = await harness.begin()
    current = await tx.perform(LockChain(job.id))
    await tx.perform(Start((side,)))
    await tx.perform(Complete(job.id, current.id, (Completion(output=b'"theirs"'),)))
    await tx.commit()

    assert current == job
    assert (await harness.job(job.id)).output == b'"theirs"'
    assert (await harness.job(side.id)).status is Status.PENDING


async def a_lock_on_an_unknown_chain_is_refused(harness: Harness) -> None:
    tx = await harness.begin()
    await tx.refused(ChainNotFound, LockChain(new_id()))
    await tx.rollback()


async def exactly_one_of_many_concurrent_transactions_completes_a_chain(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(5):
        job = await harness.started()

        answers = await harness.race([_complete(g, job, str(n).encode()) for n, g in enumerate([harness, other] * 3)])

        (winner,) = [answer for answer in answers if isinstance(answer, bytes)]
        assert (await harness.job(job.id)).output == winner
        losers += sum(isinstance(answer, AlreadyCompleted) for answer in answers)
    assert losers == 25


async def either_a_guarded_claim_or_a_concurrent_cancel_succeeds(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(10):
        job = await harness.claimed()

        settled, ended = await harness.race([_guard_and_settle(harness, job), _cancel(other, job)])

        if isinstance(settled, ClaimLost):
            assert (settled.reason, ended) == ("cancelled", Status.CANCELLED)
        else:
            assert (settled, ended) == (Status.COMPLETED, Status.COMPLETED)
        assert (await harness.job(job.id)).status is ended
        losers += 1
    assert losers == 10


async def one_of_many_concurrent_transactions_with_the_same_key_creates_the_chain(harness: Harness) -> None:
    other = await harness.second_store()
    for number in range(5):
        jobs = [await harness.claimed() for _ in range(6)]
        pairs = zip(jobs, [harness, other] * 3, strict=True)

        reported = await harness.race([_start_and_settle(g, job, f"k{number}") for job, g in pairs])

        (made,) = [job.id for job in await harness.everything() if job.key == f"k{number}"]
        settled = [answer for answer in reported if isinstance(answer, tuple)]
        assert {chain_id for chain_id, _ in settled} == {made}
        assert sum(not deduplicated for _, deduplicated in settled) == 1
        assert len(settled) + sum(isinstance(answer, Conflict) for answer in reported) == 6
        unsettled = [job for job in await harness.everything() if job.status is Status.RUNNING]
        assert len(unsettled) == 6 - len(settled)
        await harness.settle(*[completed(job) for job in unsettled])


async def _complete(harness: Harness, job: Record, output: bytes) -> bytes:
    tx = await harness.begin()
    try:
        current = await tx.perform(LockChain(job.id))
        await tx.perform(Complete(job.id, current.id, (Completion(output=output),)))
    except AlreadyCompleted:
        await tx.rollback()
        raise
    await tx.commit()
    return output


async def _guard_and_settle(harness: Harness, job: Record) -> Status:
    tx = await harness.begin()
    try:
        await tx.perform(Guard(job.claim))
        (answer,) = await tx.perform(Settle((completed(job),)))
        if answer.lost is not None:
            raise ClaimLost(job.id, answer.lost)
    except ClaimLost:
        await tx.rollback()
        raise
    await tx.commit()
    return Status.COMPLETED


async def _cancel(harness: Harness, job: Record) -> Status:
    (chain,) = await harness.perform(CancelChains((job.id,)))
    return chain.last.status


async def _start_and_settle(harness: Harness, job: Record, key: str) -> tuple[str, bool]:
    """Start a key and settle in one transaction. Returns what the start reported about the chain."""
    tx = await harness.begin()
    ((chain, deduplicated),) = await tx.perform(Start((new_job("side", key=key),)))
    (answer,) = await tx.perform(Settle((completed(job),)))
    if answer.refused is not None:
        await tx.rollback()
        raise answer.refused
    await tx.commit()
    return chain.first.id, deduplicated
