"""A permanent failure starts its hook exactly once."""

from __future__ import annotations

from holdfast.core.details import FailureHook
from holdfast.core.record import Status
from holdfast.engine.operations import (
    RetryJobs,
    Settle,
    Start,
)
from holdfast.testing.builders import (
    failed,
    new_job,
)
from holdfast.testing.conformance.builders import hooks_of, received
from holdfast.testing.conformance.harness import Harness

REFUND = FailureHook("refund", "failure")


async def a_settlement_that_is_sent_again_starts_no_second_hook(harness: Harness) -> None:
    job = await harness.claimed(new_job(on_failure=REFUND))
    settlement = failed(job)
    await harness.settled(settlement)

    await harness.settle(settlement)
    await harness.perform(Settle((settlement,), again=True))
    await harness.settle(failed(job))

    assert len(await hooks_of(harness)) == 1


async def a_stale_settlement_starts_no_hook(harness: Harness) -> None:
    stale = await harness.claimed(new_job(max_attempts=5, on_failure=REFUND))
    await harness.expire()
    await harness.reap()
    await harness.claim_one()

    (answer,) = await harness.settle(failed(stale))

    assert answer.lost == "taken_by_another_worker"
    assert await hooks_of(harness) == []


async def a_failure_after_a_retry_by_hand_starts_the_hook_again(harness: Harness) -> None:
    job = await harness.claimed(new_job(on_failure=REFUND))
    await harness.settled(failed(job))
    await harness.perform(RetryJobs((job.id,)))
    await harness.settled(failed(await harness.claim_one()))

    blocker = await harness.claimed(new_job("other"))
    blocked = await harness.started(new_job(after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND))
    await harness.settled(failed(blocker))
    await harness.perform(RetryJobs((blocked.id,)))
    await harness.perform(RetryJobs((blocker.id,)))
    await harness.settled(failed(await harness.claim_one("other")))

    failed_jobs = [received(hook).job_id for hook in await hooks_of(harness)]
    assert sorted(failed_jobs) == sorted([job.id, job.id, blocked.id, blocked.id])


async def one_of_two_racing_settlements_starts_the_hook(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1, on_failure=REFUND), max_attempts=1)
    other = await harness.second_store()
    await harness.expire()

    await harness.race([harness.settle(failed(job)), other.settle(failed(job)), other.reap()])

    assert (await harness.job(job.id)).status is Status.FAILED
    assert len(await hooks_of(harness)) == 1


async def the_failure_of_two_blockers_at_once_starts_the_hook_once(harness: Harness) -> None:
    one, two = [await harness.claimed(new_job("other")) for _ in range(2)]
    await harness.start(new_job(after=(one.id, two.id), on_blocker_failure="fail", on_failure=REFUND))
    other = await harness.second_store()

    await harness.race([harness.settle(failed(one)), other.settle(failed(two))])

    assert len(await hooks_of(harness)) == 1


async def a_rolled_back_start_of_a_job_that_fails_at_once_starts_no_hook(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.settled(failed(blocker))
    before = await harness.everything()
    tx = await harness.begin()
    await tx.perform(Start((new_job(after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND),)))

    await tx.rollback()

    assert await harness.everything() == before
