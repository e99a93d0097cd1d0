"""Transactions of the store's own: there for everyone after the commit, or never there."""

from __future__ import annotations

from holdfast.errors import AlreadyCompleted, ChainNotFound, ClaimLost, Conflict
from holdfast.ids import new_id
from holdfast.operations import (
    Cancel,
    Complete,
    GetChains,
    GetJobs,
    Guard,
    LockChain,
    Settle,
    Start,
    Step,
)
from holdfast.record import Record, Status
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.ground import Ground


async def what_is_performed_in_one_is_there_after_the_commit(ground: Ground) -> None:
    job, side = await ground.claimed(), new_job("side")

    tx = await ground.begin()
    await tx.perform(Guard(job.claim))
    ((chain, deduplicated),) = await tx.perform(Start((side,)))
    (answer,) = await tx.perform(Settle((continued(job, next_job(job)),)))
    await tx.commit()

    assert (chain.first.id, deduplicated) == (side.id, False)
    assert answer.written
    assert (await ground.chain(job.id)).last.type == "publish"
    assert (await ground.job(side.id)).status is Status.PENDING


async def what_was_only_started_in_one_is_there_after_the_commit(ground: Ground) -> None:
    side, keyed = new_job("side"), new_job("side", key="k")

    tx = await ground.begin()
    await tx.perform(Start((side,)))
    await tx.perform(Start((keyed,)))
    await tx.commit()

    assert (await ground.job(side.id)).status is Status.PENDING
    assert (await ground.start(new_job("side", key="k")))[0].chain.first.id == keyed.id


async def what_was_started_in_one_is_not_there_after_a_rollback(ground: Ground) -> None:
    job = await ground.claimed()
    before = await ground.everything()

    tx = await ground.begin()
    await tx.perform(Guard(job.claim))
    await tx.perform(Start((new_job("side"), new_job("side", key="k"))))
    await tx.rollback()

    assert await ground.everything() == before
    await ground.settled(completed(job))
    assert not (await ground.start(new_job("side", key="k")))[0].deduplicated


async def nobody_sees_what_is_not_committed(ground: Ground) -> None:
    other = await ground.second_store()
    job, side = await ground.claimed(), new_job("side")

    tx = await ground.begin()
    await tx.perform(Start((side,)))
    assert await other.perform(GetChains((side.id,))) == [None]
    await tx.perform(Settle((completed(job),)))
    await tx.commit()

    assert (await other.chain(side.id)).first.id == side.id


async def one_reads_what_was_there_before_it(ground: Ground) -> None:
    job = await ground.started()

    tx = await ground.begin()
    found = await tx.perform(GetJobs((job.id, new_id())))
    await tx.rollback()

    assert found == [job, None]


async def a_stale_claim_is_refused_before_anything_is_written(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Cancel((job.id,)))

    tx = await ground.begin()
    error = await tx.refused(ClaimLost, Guard(job.claim))
    await tx.rollback()

    assert (error.job_id, error.reason) == (job.id, "cancelled")


async def a_stale_claim_settles_nothing(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Cancel((job.id,)))
    before = await ground.everything()

    tx = await ground.begin()
    await tx.perform(Start((new_job("side"),)))
    (answer,) = await tx.perform(Settle((completed(job),)))
    await tx.rollback()

    assert answer.lost == "cancelled"
    assert await ground.everything() == before


async def a_key_is_found_in_one_as_it_is_outside(ground: Ground) -> None:
    made = await ground.started(new_job("side", key="k"))
    job, fresh = await ground.claimed(), new_job("side", key="fresh")

    tx = await ground.begin()
    found = await tx.perform(Start((new_job("side", key="k"), fresh)))
    again = await tx.perform(Start((new_job("side", key="fresh"),)))
    await tx.perform(Settle((completed(job),)))
    await tx.commit()

    assert [(one.chain.first.id, one.deduplicated) for one in found + again] == [
        (made.id, True),
        (fresh.id, False),
        (fresh.id, True),
    ]
    assert len(await ground.everything()) == 3


async def a_completion_from_outside_is_part_of_one(ground: Ground) -> None:
    job, side = await ground.started(), new_job("side")

    tx = await ground.begin()
    current = await tx.perform(LockChain(job.id))
    await tx.perform(Start((side,)))
    await tx.perform(Complete(job.id, current.id, (Step(output=b'"theirs"'),)))
    await tx.commit()

    assert current == job
    assert (await ground.job(job.id)).output == b'"theirs"'
    assert (await ground.job(side.id)).status is Status.PENDING


async def locking_a_chain_that_is_gone_is_refused(ground: Ground) -> None:
    tx = await ground.begin()
    await tx.refused(ChainNotFound, LockChain(new_id()))
    await tx.rollback()


async def of_many_transactions_that_complete_one_chain_exactly_one_wins(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(5):
        job = await ground.started()

        answers = await ground.race([_complete(g, job, str(n).encode()) for n, g in enumerate([ground, other] * 3)])

        (winner,) = [answer for answer in answers if isinstance(answer, bytes)]
        assert (await ground.job(job.id)).output == winner
        losers += sum(isinstance(answer, AlreadyCompleted) for answer in answers)
    assert losers == 25


async def a_guarded_claim_and_a_cancel_at_once_leave_one_truth(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(10):
        job = await ground.claimed()

        settled, ended = await ground.race([_guard_and_settle(ground, job), _cancel(other, job)])

        if isinstance(settled, ClaimLost):
            assert (settled.reason, ended) == ("cancelled", Status.CANCELLED)
        else:
            assert (settled, ended) == (Status.COMPLETED, Status.COMPLETED)
        assert (await ground.job(job.id)).status is ended
        losers += 1
    assert losers == 10


async def of_many_transactions_that_start_one_key_one_creates_and_none_is_misled(ground: Ground) -> None:
    other = await ground.second_store()
    for number in range(5):
        jobs = [await ground.claimed() for _ in range(6)]
        pairs = zip(jobs, [ground, other] * 3, strict=True)

        told = await ground.race([_start_and_settle(g, job, f"k{number}") for job, g in pairs])

        (made,) = [job.id for job in await ground.everything() if job.key == f"k{number}"]
        settled = [answer for answer in told if isinstance(answer, tuple)]
        assert {chain_id for chain_id, _ in settled} == {made}
        assert sum(not deduplicated for _, deduplicated in settled) == 1
        assert len(settled) + sum(isinstance(answer, Conflict) for answer in told) == 6
        unsettled = [job for job in await ground.everything() if job.status is Status.RUNNING]
        assert len(unsettled) == 6 - len(settled)
        await ground.settle(*[completed(job) for job in unsettled])


async def _complete(ground: Ground, job: Record, output: bytes) -> bytes:
    tx = await ground.begin()
    try:
        current = await tx.perform(LockChain(job.id))
        await tx.perform(Complete(job.id, current.id, (Step(output=output),)))
    except AlreadyCompleted:
        await tx.rollback()
        raise
    await tx.commit()
    return output


async def _guard_and_settle(ground: Ground, job: Record) -> Status:
    tx = await ground.begin()
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


async def _cancel(ground: Ground, job: Record) -> Status:
    (chain,) = await ground.perform(Cancel((job.id,)))
    return chain.last.status


async def _start_and_settle(ground: Ground, job: Record, key: str) -> tuple[str, bool]:
    """Start a key and settle in one transaction; answers what was told about the chain."""
    tx = await ground.begin()
    ((chain, deduplicated),) = await tx.perform(Start((new_job("side", key=key),)))
    (answer,) = await tx.perform(Settle((completed(job),)))
    if answer.refused is not None:
        await tx.rollback()
        raise answer.refused
    await tx.commit()
    return chain.first.id, deduplicated
