"""Races of three operations on one job: one succeeds, the others report it, and the job shows the result."""

from __future__ import annotations

from collections import Counter

from holdfast.core.clock import SECOND
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import CancelChains, Complete, Completion, Delete, Reaped, Renew, RetryJobs, Settled
from holdfast.errors import AlreadyCompleted, ChainNotFound, HoldfastError, NotPending
from holdfast.testing.builders import completed, continued, new_job, next_job, retrying
from holdfast.testing.conformance.harness import LEASE, Harness

ROUNDS = 20


async def one_of_concurrent_cancel_settle_and_reap_succeeds(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(ROUNDS):
        job = await harness.claimed()
        await harness.expire()

        settled, chain, reaped = await harness.race([_settle(harness, job), _cancel(other, job), _reap(other)])

        ended = (await harness.job(job.id)).status
        assert isinstance(settled, Settled)
        assert ended is (Status.COMPLETED if settled.written else Status.CANCELLED)
        assert isinstance(chain, ChainRecord)
        assert chain.last.status is ended
        outcomes = Counter(past.outcome for past in await harness.past(job.id))
        assert outcomes == _expected(settled, reaped)
        losers += not settled.written or chain.last.status is not Status.CANCELLED
    assert losers == ROUNDS


async def either_a_renewal_or_a_concurrent_reap_succeeds(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(ROUNDS):
        job = await harness.claimed()
        await harness.expire()

        lost, reaped = await harness.race([_renew(harness, job), _reap(other)])

        assert (lost, reaped) in ((True, True), (False, False))
        losers += 1
        assert (await harness.job(job.id)).status is (Status.PENDING if lost else Status.RUNNING)
        await harness.perform(Delete((job.id,)))
    assert losers == ROUNDS


async def concurrent_cancel_settle_and_complete_create_at_most_one_continuation(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(ROUNDS):
        job = await harness.claimed()
        inside, outside = next_job(job, "inside"), next_job(job, "outside")

        settled, chain, completer = await harness.race(
            [
                _settle(harness, job, inside.type),
                _cancel(other, job),
                _complete(harness, job, outside.type),
            ]
        )

        last = (await harness.chain(job.id)).last
        assert isinstance(settled, Settled)
        assert isinstance(chain, ChainRecord)
        assert last.status is Status.CANCELLED
        written = [settled.written, isinstance(completer, Settled)]
        assert written in ([True, False], [False, True], [False, False])
        assert last.type == {0: "inside", 1: "outside"}.get(written.index(True) if any(written) else 2, "resize")
        losers += written.count(False)
    assert losers >= ROUNDS


async def nothing_is_left_after_concurrent_delete_settle_and_complete(harness: Harness) -> None:
    other = await harness.second_store()
    reported = 0
    for _ in range(ROUNDS):
        job = await harness.claimed()

        settled, deleted, completer = await harness.race(
            [_settle(harness, job), _delete(other, job), _complete(other, job)]
        )

        assert deleted == [job.id]
        assert isinstance(settled, Settled)
        assert settled.lost in (None, "not_found", "already_completed")
        assert isinstance(completer, Settled | AlreadyCompleted | ChainNotFound)
        reported += (settled.lost is not None) + isinstance(completer, HoldfastError)
    assert reported >= ROUNDS
    assert await harness.everything() == []


async def a_job_that_is_claimed_and_cancelled_at_the_same_time_does_not_complete(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(ROUNDS):
        job = await harness.started()

        claimed, chain = await harness.race([_claim(harness), _cancel(other, job)])

        assert isinstance(chain, ChainRecord)
        assert chain.last.status is Status.CANCELLED
        if isinstance(claimed, Record):
            assert (await harness.settle(completed(claimed)))[0].lost == "cancelled"
        assert (await harness.job(job.id)).status is Status.CANCELLED


async def concurrent_retries_and_a_delete_report_different_results(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(ROUNDS):
        job = await harness.started(new_job(delay=60))
        await harness.perform(CancelChains((job.id,)))

        answers = await harness.race([_retry(harness, job), _delete(other, job), _retry(other, job)])

        retried = [answers[0], answers[2]]
        assert sum(isinstance(answer, bool) for answer in retried) <= 1
        assert all(isinstance(answer, bool | NotPending | LookupError) for answer in retried)
        assert await harness.everything() == []


async def concurrent_batches_over_the_same_jobs_in_opposite_order_do_not_deadlock(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(5):
        await harness.start(*[new_job() for _ in range(20)])
        jobs = await harness.claim(limit=20)
        back = jobs[::-1]

        answers = await harness.race(
            [
                _settle_all(harness, jobs),
                _settle_all(other, back),
                _cancel_all(harness, back),
                _renew_all(other, jobs),
                _renew_all(harness, back),
            ]
        )

        assert not [answer for answer in answers if isinstance(answer, HoldfastError)]
        written = {job.id for job in await harness.everything() if job.status is not Status.CANCELLED}
        assert written == set[str]()
        await harness.perform(Delete(tuple(job.id for job in jobs)))


async def _settle(harness: Harness, job: Record, into: str | None = None) -> object:
    settlement = completed(job) if into is None else continued(job, next_job(job, into))
    return (await harness.settle(settlement))[0]


async def _cancel(harness: Harness, job: Record) -> object:
    return (await harness.perform(CancelChains((job.chain_id,))))[0]


async def _reap(harness: Harness) -> object:
    reaped: list[Reaped] = await harness.reap()
    return bool(reaped)


async def _renew(harness: Harness, job: Record) -> object:
    lost = await harness.perform(Renew(((job.claim, LEASE * SECOND),)))
    return bool(lost)


async def _complete(harness: Harness, job: Record, into: str | None = None) -> object:
    step = Completion(output=b"1") if into is None else Completion(continuation=next_job(job, into))
    return await harness.perform(Complete(job.chain_id, job.id, (step,)))


async def _delete(harness: Harness, job: Record) -> object:
    return await harness.perform(Delete((job.chain_id,)))


async def _claim(harness: Harness) -> object:
    return next(iter(await harness.claim()), None)


async def _retry(harness: Harness, job: Record) -> object:
    (record,) = await harness.perform(RetryJobs((job.id,)))
    return record.status is Status.PENDING


async def _settle_all(harness: Harness, jobs: list[Record]) -> object:
    return await harness.settle(*[retrying(job, delay=60) for job in jobs])


async def _cancel_all(harness: Harness, jobs: list[Record]) -> object:
    return await harness.perform(CancelChains(tuple(job.chain_id for job in jobs)))


async def _renew_all(harness: Harness, jobs: list[Record]) -> object:
    return await harness.perform(Renew(tuple((job.claim, LEASE * SECOND) for job in jobs)))


def _expected(settled: Settled, reaped: object) -> Counter[str]:
    """The attempts in the history: a reaped attempt is lost, a cancelled running attempt is cancelled."""
    if reaped:
        return Counter(["lost"])
    return Counter() if settled.written else Counter(["cancelled"])
