"""Jobs that need blockers of certain types: a start, a continuation or a side chain with others is refused."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.core.record import Status
from holdfast.engine.operations import Complete, Completion, Start
from holdfast.errors import ChainNotFound, WrongBlockers
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def a_job_may_wait_for_chains_of_the_types_that_it_needs(harness: Harness) -> None:
    running = await harness.claimed(new_job("extract"))
    done = await harness.completed(new_job("count"))
    grown = await harness.claimed(new_job("count"))
    await harness.settled(continued(grown, next_job(grown, "extract")))
    first = new_job("extract")
    needed = ("extract", "count", "count", "extract")

    # The type of a chain is that of its first job, and a chain of the same batch counts.
    job = new_job("load", after=(running.id, done.id, grown.id, first.id), blocker_types=needed)
    _, started = await harness.perform(Start((first, job)))

    assert (started.chain.first.status, started.chain.first.blockers) == (Status.BLOCKED, 4)


async def a_start_with_a_chain_of_another_type_is_refused_and_writes_nothing(harness: Harness) -> None:
    extract, count = await harness.started(new_job("extract")), await harness.completed(new_job("count"))
    before = await harness.everything()
    swapped = new_job("load", after=(extract.id, count.id), blocker_types=("count", "extract"))
    other = new_job("count")
    planned = new_job("load", after=(extract.id, other.id), blocker_types=("extract", "extract"))
    unknown = new_job("load", after=(count.id, new_id()), blocker_types=("extract", "extract"))

    error = await harness.refused(WrongBlockers, Start((new_job("extract"), swapped)))
    await harness.refused(WrongBlockers, Start((other, planned)))
    await harness.refused(ChainNotFound, Start((unknown,)))

    assert str(error) == (
        f"load: after= needs a chain of type 'count' here, and chain {extract.id!r} is of type 'extract'"
    )
    assert await harness.everything() == before


async def an_existing_chain_is_returned_whatever_the_types_of_the_blockers(harness: Harness) -> None:
    other, job = await harness.started(new_job("other")), await harness.started(new_job("load", key="k"))
    again = new_job("load", key="k", after=(other.id,), blocker_types=("extract",))

    ((chain, deduplicated),) = await harness.perform(Start((again,)))

    assert (chain.first.id, deduplicated) == (job.id, True)


async def a_settlement_with_a_blocker_of_another_type_is_refused_and_the_claim_still_holds(harness: Harness) -> None:
    other = await harness.started(new_job("other"))
    job = await harness.claimed()
    side = new_job("extract")
    before = await harness.everything()
    refused = (
        continued(job, next_job(job, after=(other.id,), blocker_types=("extract",))),
        continued(job, next_job(job, after=(side.id,), blocker_types=("other",)), starts=(side,)),
        completed(job, starts=(side, new_job("load", after=(side.id,), blocker_types=("other",)))),
    )

    for settlement in refused:
        (answer,) = await harness.settle(settlement)
        assert isinstance(answer.refused, WrongBlockers)
        assert await harness.everything() == before

    following = next_job(job, after=(other.id, side.id), blocker_types=("other", "extract"))
    await harness.settled(continued(job, following, starts=(side,)))
    assert (await harness.job(following.id)).open_blockers == 2


async def a_completion_with_a_blocker_of_another_type_is_refused(harness: Harness) -> None:
    other, job = await harness.started(new_job("other")), await harness.started()
    before = await harness.everything()
    wrong = next_job(job, after=(other.id,), blocker_types=("extract",))
    right = next_job(job, after=(other.id,), blocker_types=("other",))

    await harness.refused(WrongBlockers, Complete(job.id, job.id, (Completion(continuation=wrong),)))
    assert await harness.everything() == before
    await harness.perform(Complete(job.id, job.id, (Completion(continuation=right),)))

    assert (await harness.job(right.id)).status is Status.BLOCKED
