"""Deleting: whole chains, nothing that an unfinished job still needs."""

from __future__ import annotations

from holdfast.errors import ClaimLost, HoldfastError, StillReferenced
from holdfast.ids import new_id
from holdfast.operations import Cancel, Delete, GetBlockers, GetChains, GetHistory, GetJobs, Guard
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.ground import Ground


async def a_chain_is_deleted_whole(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(retrying(job))
    second = next_job(job)
    await ground.settled(continued(await ground.claim_one(), second))
    other = await ground.started()

    assert await ground.perform(Delete((job.id,))) == [job.id]

    assert await ground.perform(GetChains((job.id,))) == [None]
    assert await ground.perform(GetJobs((job.id, second.id))) == [None, None]
    assert await ground.perform(GetHistory(job.id)) is None
    assert await ground.everything() == [other]
    assert await ground.claim("publish") == []


async def chains_in_every_status_are_deleted(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    done = await ground.completed()
    lost = await ground.claimed()
    await ground.settled(failed(lost))
    running = await ground.claimed()
    jobs = [await ground.started(new_job(after=(blocker.id,))), await ground.started(), running, done, lost]

    deleted = await ground.perform(Delete(tuple(job.id for job in jobs)))

    assert deleted == [job.id for job in jobs]
    assert await ground.everything() == [blocker]


async def the_worker_of_a_deleted_job_finds_nothing_there(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Delete((job.id,)))

    assert (await ground.settle(completed(job)))[0].lost == "not_found"
    assert (await ground.refused(ClaimLost, Guard(job.claim))).reason == "not_found"


async def unknown_ids_are_passed_over(ground: Ground) -> None:
    job = await ground.claimed()
    second = next_job(job)
    await ground.settled(continued(job, second))

    assert await ground.perform(Delete((new_id(), second.id))) == []
    assert await ground.perform(Delete((new_id(), job.id, job.id))) == [job.id]
    assert await ground.perform(Delete((job.id,))) == []


async def a_chain_that_an_unfinished_job_waits_for_stays(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    job = await ground.started(new_job(after=(blocker.id,)))
    free = await ground.started()
    before = await ground.everything()

    error = await ground.refused(StillReferenced, Delete((free.id, blocker.id)))

    assert error.references == [(blocker.id, job.id)]
    assert await ground.everything() == before


async def a_completed_chain_whose_output_an_unfinished_job_may_read_stays(ground: Ground) -> None:
    blocker = await ground.completed(new_job("other"))
    job = await ground.claimed(new_job(after=(blocker.id,)))

    error = await ground.refused(StillReferenced, Delete((blocker.id,)))
    assert error.references == [(blocker.id, job.id)]

    await ground.settled(completed(job))
    assert await ground.perform(Delete((blocker.id,))) == [blocker.id]


async def a_later_step_that_waits_keeps_its_blocker_too(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    job = await ground.claimed()
    second = next_job(job, after=(blocker.id,))
    await ground.settled(continued(job, second))

    error = await ground.refused(StillReferenced, Delete((blocker.id,)))

    assert error.references == [(blocker.id, second.id)]


async def a_chain_goes_together_with_those_that_wait_for_it(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    job = await ground.started(new_job(after=(blocker.id,)))

    assert await ground.perform(Delete((blocker.id, job.id))) == [blocker.id, job.id]
    assert await ground.everything() == []


async def without_cascade_blockers_stay(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    job = await ground.started(new_job(after=(blocker.id,)))

    assert await ground.perform(Delete((job.id,))) == [job.id]

    assert await ground.everything() == [blocker]
    assert await ground.perform(Delete((blocker.id,))) == [blocker.id]


async def with_cascade_the_blockers_of_every_step_go_and_theirs(ground: Ground) -> None:
    deep = await ground.completed(new_job("other"))
    first_blocker = await ground.completed(new_job("other", after=(deep.id,)))
    second_blocker = await ground.completed(new_job("other"))
    job = await ground.claimed(new_job(after=(first_blocker.id,)))
    await ground.settled(continued(job, next_job(job, after=(second_blocker.id, first_blocker.id))))
    bystander = await ground.started()

    deleted = await ground.perform(Delete((job.id,), cascade=True))

    assert deleted[0] == job.id
    assert sorted(deleted) == sorted([job.id, first_blocker.id, second_blocker.id, deep.id])
    assert await ground.everything() == [bystander]


async def a_cascade_that_would_strand_a_job_outside_deletes_nothing(ground: Ground) -> None:
    shared = await ground.started(new_job("other"))
    job = await ground.started(new_job(after=(shared.id,)))
    outside = await ground.started(new_job(after=(shared.id,)))
    before = await ground.everything()

    error = await ground.refused(StillReferenced, Delete((job.id,), cascade=True))

    assert error.references == [(shared.id, outside.id)]
    assert await ground.everything() == before


async def a_finished_job_does_not_keep_its_blockers(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    await ground.settled(failed(blocker))
    job = await ground.started(new_job(after=(blocker.id,)))
    await ground.perform(Cancel((job.id,)))

    assert await ground.perform(Delete((blocker.id,))) == [blocker.id]

    assert await ground.perform(GetBlockers(job.id)) == []
    assert await ground.perform(Delete((job.id,), cascade=True)) == [job.id]


async def hundreds_of_chains_are_deleted_in_one_step(ground: Ground) -> None:
    jobs = [new_job() for _ in range(500)]
    await ground.start(*jobs)

    assert await ground.perform(Delete(tuple(job.id for job in jobs))) == [job.id for job in jobs]
    assert await ground.everything() == []


async def of_a_delete_and_a_start_that_waits_for_the_chain_one_is_refused(ground: Ground) -> None:
    other = await ground.second_store()
    for _ in range(20):
        blocker = await ground.started(new_job("other"))
        dependent = new_job(after=(blocker.id,))

        answers = await ground.race([_deleting(ground, blocker.id), _starting(other, dependent.id, blocker.id)])

        assert sum(isinstance(answer, HoldfastError) for answer in answers) == 1
        kept = {job.id for job in await ground.everything()}
        assert (dependent.id in kept) <= (blocker.id in kept)
        await ground.perform(Delete((dependent.id, blocker.id)))


async def _deleting(ground: Ground, chain_id: str) -> list[str]:
    return await ground.perform(Delete((chain_id,)))


async def _starting(ground: Ground, id: str, blocker: str) -> list[str]:
    return [started.chain.first.id for started in await ground.start(new_job(id=id, after=(blocker,)))]
