"""Delete: remove whole chains, except chains that an unfinished job waits for."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.engine.operations import CancelChains, Delete, GetBlockers, GetChains, GetHistory, GetJobs, Guard
from holdfast.errors import ClaimLost, HoldfastError, StillReferenced
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness


async def all_jobs_of_a_chain_are_deleted(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job))
    second = next_job(job)
    await harness.settled(continued(await harness.claim_one(), second))
    other = await harness.started()

    assert await harness.perform(Delete((job.id,))) == [job.id]

    assert await harness.perform(GetChains((job.id,))) == [None]
    assert await harness.perform(GetJobs((job.id, second.id))) == [None, None]
    assert await harness.perform(GetHistory(job.id)) is None
    assert await harness.everything() == [other]
    assert await harness.claim("publish") == []


async def chains_in_every_status_are_deleted(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    done = await harness.completed()
    lost = await harness.claimed()
    await harness.settled(failed(lost))
    running = await harness.claimed()
    jobs = [await harness.started(new_job(after=(blocker.id,))), await harness.started(), running, done, lost]

    deleted = await harness.perform(Delete(tuple(job.id for job in jobs)))

    assert deleted == [job.id for job in jobs]
    assert await harness.everything() == [blocker]


async def the_claim_of_a_deleted_job_is_lost(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(Delete((job.id,)))

    assert (await harness.settle(completed(job)))[0].lost == "not_found"
    assert (await harness.refused(ClaimLost, Guard(job.claim))).reason == "not_found"


async def unknown_ids_are_ignored(harness: Harness) -> None:
    job = await harness.claimed()
    second = next_job(job)
    await harness.settled(continued(job, second))

    assert await harness.perform(Delete((new_id(), second.id))) == []
    assert await harness.perform(Delete((new_id(), job.id, job.id))) == [job.id]
    assert await harness.perform(Delete((job.id,))) == []


async def a_chain_that_an_unfinished_job_waits_for_is_not_deleted(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,)))
    free = await harness.started()
    before = await harness.everything()

    error = await harness.refused(StillReferenced, Delete((free.id, blocker.id)))

    assert error.references == [(blocker.id, job.id)]
    assert await harness.everything() == before


async def a_completed_blocker_of_an_unfinished_job_is_not_deleted(harness: Harness) -> None:
    blocker = await harness.completed(new_job("other"))
    job = await harness.claimed(new_job(after=(blocker.id,)))

    error = await harness.refused(StillReferenced, Delete((blocker.id,)))
    assert error.references == [(blocker.id, job.id)]

    await harness.settled(completed(job))
    assert await harness.perform(Delete((blocker.id,))) == [blocker.id]


async def a_blocker_of_a_continuation_is_not_deleted(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    job = await harness.claimed()
    second = next_job(job, after=(blocker.id,))
    await harness.settled(continued(job, second))

    error = await harness.refused(StillReferenced, Delete((blocker.id,)))

    assert error.references == [(blocker.id, second.id)]


async def a_chain_is_deleted_together_with_the_chains_that_wait_for_it(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,)))

    assert await harness.perform(Delete((blocker.id, job.id))) == [blocker.id, job.id]
    assert await harness.everything() == []


async def blockers_are_not_deleted_without_cascade(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,)))

    assert await harness.perform(Delete((job.id,))) == [job.id]

    assert await harness.everything() == [blocker]
    assert await harness.perform(Delete((blocker.id,))) == [blocker.id]


async def cascade_deletes_the_blockers_of_every_job_and_their_blockers(harness: Harness) -> None:
    deep = await harness.completed(new_job("other"))
    first_blocker = await harness.completed(new_job("other", after=(deep.id,)))
    second_blocker = await harness.completed(new_job("other"))
    job = await harness.claimed(new_job(after=(first_blocker.id,)))
    await harness.settled(continued(job, next_job(job, after=(second_blocker.id, first_blocker.id))))
    bystander = await harness.started()

    deleted = await harness.perform(Delete((job.id,), cascade=True))

    assert deleted[0] == job.id
    assert sorted(deleted) == sorted([job.id, first_blocker.id, second_blocker.id, deep.id])
    assert await harness.everything() == [bystander]


async def a_cascade_is_refused_if_a_job_of_another_chain_waits_for_a_blocker(harness: Harness) -> None:
    shared = await harness.started(new_job("other"))
    job = await harness.started(new_job(after=(shared.id,)))
    outside = await harness.started(new_job(after=(shared.id,)))
    before = await harness.everything()

    error = await harness.refused(StillReferenced, Delete((job.id,), cascade=True))

    assert error.references == [(shared.id, outside.id)]
    assert await harness.everything() == before


async def the_blockers_of_a_finished_job_can_be_deleted(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.settled(failed(blocker))
    job = await harness.started(new_job(after=(blocker.id,)))
    await harness.perform(CancelChains((job.id,)))

    assert await harness.perform(Delete((blocker.id,))) == [blocker.id]

    assert await harness.perform(GetBlockers((job.id,))) == [[]]
    assert await harness.perform(Delete((job.id,), cascade=True)) == [job.id]


async def hundreds_of_chains_are_deleted_by_one_operation(harness: Harness) -> None:
    jobs = [new_job() for _ in range(500)]
    await harness.start(*jobs)

    assert await harness.perform(Delete(tuple(job.id for job in jobs))) == [job.id for job in jobs]
    assert await harness.everything() == []


async def a_new_job_comes_after_the_deleted_ones(harness: Harness) -> None:
    """A reader that has seen the number of a job finds all later jobs behind it."""
    job = await harness.claimed()
    newest = await harness.started(new_job("other"))
    await harness.perform(Delete((newest.id,)))
    second = next_job(job)
    await harness.settled(continued(job, second))
    [continuation] = await harness.perform(GetJobs((second.id,)))

    assert continuation is not None
    assert continuation.seq > newest.seq
    await harness.perform(Delete((job.id,)))
    assert (await harness.started()).seq > continuation.seq


async def a_concurrent_delete_or_a_start_that_waits_for_the_chain_is_refused(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(20):
        blocker = await harness.started(new_job("other"))
        dependent = new_job(after=(blocker.id,))

        answers = await harness.race([_deleting(harness, blocker.id), _starting(other, dependent.id, blocker.id)])

        assert sum(isinstance(answer, HoldfastError) for answer in answers) == 1
        kept = {job.id for job in await harness.everything()}
        assert (dependent.id in kept) <= (blocker.id in kept)
        await harness.perform(Delete((dependent.id, blocker.id)))


async def _deleting(harness: Harness, chain_id: str) -> list[str]:
    return await harness.perform(Delete((chain_id,)))


async def _starting(harness: Harness, id: str, blocker: str) -> list[str]:
    return [started.chain.first.id for started in await harness.start(new_job(id=id, after=(blocker,)))]
