"""Get chains and jobs by id."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.core.record import ChainRecord
from holdfast.engine.operations import Examine, GetBlockers, GetChains, GetHistory, GetJobs
from holdfast.testing.builders import continued, next_job
from holdfast.testing.conformance.harness import Harness


async def jobs_are_returned_in_the_given_order_with_none_for_unknown_ids(harness: Harness) -> None:
    one, two = await harness.started(), await harness.started()

    assert await harness.perform(GetJobs((two.id, new_id(), one.id, two.id))) == [two, None, one, two]
    assert await harness.perform(GetJobs(())) == []


async def chains_are_returned_in_the_given_order_with_none_for_unknown_ids(harness: Harness) -> None:
    one, two = await harness.started(), await harness.started()

    chains = await harness.perform(GetChains((two.id, new_id(), one.id, two.id)))

    assert chains == [ChainRecord(two, two), None, ChainRecord(one, one), ChainRecord(two, two)]
    assert await harness.perform(GetChains(())) == []


async def a_chain_consists_of_its_first_and_its_last_job(harness: Harness) -> None:
    job = await harness.claimed()
    second = next_job(job, "resize")
    await harness.settled(continued(job, second))
    third = next_job(second, "resize")
    await harness.settled(continued(await harness.claim_one(), third))

    chain = await harness.chain(job.id)

    assert chain == ChainRecord(await harness.job(job.id), await harness.job(third.id))
    assert await harness.perform(GetChains((second.id, third.id))) == [None, None]


async def a_job_that_does_not_exist_has_no_blockers_and_no_history(harness: Harness) -> None:
    assert await harness.perform(GetBlockers((new_id(),))) == [[]]
    assert await harness.perform(GetHistory(new_id())) is None


async def hundreds_of_jobs_are_read_by_one_operation(harness: Harness) -> None:
    jobs = [await harness.started() for _ in range(400)]
    ids = tuple(job.id for job in jobs)

    assert await harness.perform(GetJobs(ids)) == jobs
    assert await harness.perform(GetChains(ids)) == [ChainRecord(job, job) for job in jobs]


async def an_examination_returns_findings(harness: Harness) -> None:
    findings = await harness.perform(Examine())

    assert {finding.level for finding in findings} <= {"ok", "warning", "error"}
    assert all(finding.subject and finding.detail for finding in findings)
