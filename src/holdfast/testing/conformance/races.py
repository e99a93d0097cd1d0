"""Races of three: one wins, the others are told, and the job shows it."""

from __future__ import annotations

from collections import Counter

from holdfast.clock import SECOND
from holdfast.errors import AlreadyCompleted, ChainNotFound, HoldfastError, NotPending
from holdfast.operations import Cancel, Complete, Delete, Reaped, Renew, RetryJobs, Settled, Step
from holdfast.record import ChainRecord, Record, Status
from holdfast.testing.builders import completed, continued, new_job, next_job, retrying
from holdfast.testing.conformance.ground import LEASE, Ground

ROUNDS = 20


async def cancel_against_settle_against_reap_leaves_one_truth(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(ROUNDS):
        job = await ground.claimed()
        await ground.expire()

        settled, chain, reaped = await ground.race([_settle(ground, job), _cancel(other, job), _reap(other)])

        ended = (await ground.job(job.id)).status
        assert isinstance(settled, Settled)
        assert ended is (Status.COMPLETED if settled.written else Status.CANCELLED)
        assert isinstance(chain, ChainRecord)
        assert chain.last.status is ended
        outcomes = Counter(past.outcome for past in await ground.past(job.id))
        assert outcomes == _expected(settled, reaped)
        losers += not settled.written or chain.last.status is not Status.CANCELLED
    assert losers == ROUNDS


async def renew_against_reap_has_one_winner(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(ROUNDS):
        job = await ground.claimed()
        await ground.expire()

        lost, reaped = await ground.race([_renew(ground, job), _reap(other)])

        assert (lost, reaped) in ((True, True), (False, False))
        losers += 1
        assert (await ground.job(job.id)).status is (Status.PENDING if lost else Status.RUNNING)
        await ground.perform(Delete((job.id,)))
    assert losers == ROUNDS


async def cancel_against_a_continuation_against_a_completer_makes_at_most_one_successor(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(ROUNDS):
        job = await ground.claimed()
        inside, outside = next_job(job, "inside"), next_job(job, "outside")

        settled, chain, completer = await ground.race(
            [
                _settle(ground, job, inside.type),
                _cancel(other, job),
                _complete(ground, job, outside.type),
            ]
        )

        last = (await ground.chain(job.id)).last
        assert isinstance(settled, Settled)
        assert isinstance(chain, ChainRecord)
        assert last.status is Status.CANCELLED
        written = [settled.written, isinstance(completer, Settled)]
        assert written in ([True, False], [False, True], [False, False])
        assert last.type == {0: "inside", 1: "outside"}.get(written.index(True) if any(written) else 2, "resize")
        losers += written.count(False)
    assert losers >= ROUNDS


async def delete_against_settle_against_complete_leaves_nothing(ground: Ground) -> None:
    other = await ground.second_store()
    told = 0
    for _ in range(ROUNDS):
        job = await ground.claimed()

        settled, deleted, completer = await ground.race(
            [_settle(ground, job), _delete(other, job), _complete(other, job)]
        )

        assert deleted == [job.id]
        assert isinstance(settled, Settled)
        assert settled.lost in (None, "not_found", "already_completed")
        assert isinstance(completer, Settled | AlreadyCompleted | ChainNotFound)
        told += (settled.lost is not None) + isinstance(completer, HoldfastError)
    assert told >= ROUNDS
    assert await ground.everything() == []


async def claim_against_cancel_never_lets_the_cancelled_job_finish(ground: Ground) -> None:
    other = await ground.second_store()
    for _ in range(ROUNDS):
        job = await ground.started()

        claimed, chain = await ground.race([_claim(ground), _cancel(other, job)])

        assert isinstance(chain, ChainRecord)
        assert chain.last.status is Status.CANCELLED
        if isinstance(claimed, Record):
            assert (await ground.settle(completed(claimed)))[0].lost == "cancelled"
        assert (await ground.job(job.id)).status is Status.CANCELLED


async def retry_against_delete_against_retry_is_told_apart(ground: Ground) -> None:
    other = await ground.second_store()
    for _ in range(ROUNDS):
        job = await ground.started(new_job(delay=60))
        await ground.perform(Cancel((job.id,)))

        answers = await ground.race([_retry(ground, job), _delete(other, job), _retry(other, job)])

        retried = [answers[0], answers[2]]
        assert sum(isinstance(answer, bool) for answer in retried) <= 1
        assert all(isinstance(answer, bool | NotPending | LookupError) for answer in retried)
        assert await ground.everything() == []


async def batches_over_the_same_jobs_in_opposite_order_all_go_through(ground: Ground) -> None:
    other = await ground.second_store()
    for _ in range(5):
        await ground.start(*[new_job() for _ in range(20)])
        jobs = await ground.claim(limit=20)
        back = jobs[::-1]

        answers = await ground.race(
            [
                _settle_all(ground, jobs),
                _settle_all(other, back),
                _cancel_all(ground, back),
                _renew_all(other, jobs),
                _renew_all(ground, back),
            ]
        )

        assert not [answer for answer in answers if isinstance(answer, HoldfastError)]
        written = {job.id for job in await ground.everything() if job.status is not Status.CANCELLED}
        assert written == set[str]()
        await ground.perform(Delete(tuple(job.id for job in jobs)))


async def _settle(ground: Ground, job: Record, into: str | None = None) -> object:
    settlement = completed(job) if into is None else continued(job, next_job(job, into))
    return (await ground.settle(settlement))[0]


async def _cancel(ground: Ground, job: Record) -> object:
    return (await ground.perform(Cancel((job.chain_id,))))[0]


async def _reap(ground: Ground) -> object:
    reaped: list[Reaped] = await ground.reap()
    return bool(reaped)


async def _renew(ground: Ground, job: Record) -> object:
    lost = await ground.perform(Renew(((job.claim, LEASE * SECOND),)))
    return bool(lost)


async def _complete(ground: Ground, job: Record, into: str | None = None) -> object:
    step = Step(output=b"1") if into is None else Step(continuation=next_job(job, into))
    return await ground.perform(Complete(job.chain_id, job.id, (step,)))


async def _delete(ground: Ground, job: Record) -> object:
    return await ground.perform(Delete((job.chain_id,)))


async def _claim(ground: Ground) -> object:
    return next(iter(await ground.claim()), None)


async def _retry(ground: Ground, job: Record) -> object:
    (record,) = await ground.perform(RetryJobs((job.id,)))
    return record.status is Status.PENDING


async def _settle_all(ground: Ground, jobs: list[Record]) -> object:
    return await ground.settle(*[retrying(job, delay=60) for job in jobs])


async def _cancel_all(ground: Ground, jobs: list[Record]) -> object:
    return await ground.perform(Cancel(tuple(job.chain_id for job in jobs)))


async def _renew_all(ground: Ground, jobs: list[Record]) -> object:
    return await ground.perform(Renew(tuple((job.claim, LEASE * SECOND) for job in jobs)))


def _expected(settled: Settled, reaped: object) -> Counter[str]:
    """Which attempts the history shows: a reaped one was lost, a cancelled running one was cancelled."""
    if reaped:
        return Counter(["lost"])
    return Counter() if settled.written else Counter(["cancelled"])
