"""Reading by id."""

from __future__ import annotations

from holdfast.ids import new_id
from holdfast.operations import Examine, GetBlockers, GetChains, GetHistory, GetJobs
from holdfast.record import ChainRecord
from holdfast.testing.builders import continued, next_job
from holdfast.testing.conformance.ground import Ground


async def jobs_are_answered_in_the_order_asked_and_none_where_there_is_none(ground: Ground) -> None:
    one, two = await ground.started(), await ground.started()

    assert await ground.perform(GetJobs((two.id, new_id(), one.id, two.id))) == [two, None, one, two]
    assert await ground.perform(GetJobs(())) == []


async def chains_are_answered_in_the_order_asked_and_none_where_there_is_none(ground: Ground) -> None:
    one, two = await ground.started(), await ground.started()

    chains = await ground.perform(GetChains((two.id, new_id(), one.id, two.id)))

    assert chains == [ChainRecord(two, two), None, ChainRecord(one, one), ChainRecord(two, two)]
    assert await ground.perform(GetChains(())) == []


async def a_chain_is_its_first_job_and_its_last(ground: Ground) -> None:
    job = await ground.claimed()
    second = next_job(job, "resize")
    await ground.settled(continued(job, second))
    third = next_job(second, "resize")
    await ground.settled(continued(await ground.claim_one(), third))

    chain = await ground.chain(job.id)

    assert chain == ChainRecord(await ground.job(job.id), await ground.job(third.id))
    assert await ground.perform(GetChains((second.id, third.id))) == [None, None]


async def a_job_that_does_not_exist_has_no_blockers_and_no_history(ground: Ground) -> None:
    assert await ground.perform(GetBlockers(new_id())) == []
    assert await ground.perform(GetHistory(new_id())) is None


async def hundreds_are_read_in_one_step(ground: Ground) -> None:
    jobs = [await ground.started() for _ in range(400)]
    ids = tuple(job.id for job in jobs)

    assert await ground.perform(GetJobs(ids)) == jobs
    assert await ground.perform(GetChains(ids)) == [ChainRecord(job, job) for job in jobs]


async def an_examination_answers_findings(ground: Ground) -> None:
    findings = await ground.perform(Examine())

    assert {finding.level for finding in findings} <= {"ok", "warning", "error"}
    assert all(finding.subject and finding.detail for finding in findings)
