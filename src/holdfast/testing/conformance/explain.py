"""Explain: the facts that decide whether a job is claimed."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.explanation import AHEAD_LIMIT, NAMED_BLOCKERS, JobFacts, OpenBlocker
from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains, Explain, Pause
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def _facts(harness: Harness, id: str, *, current: bool = True) -> JobFacts:
    facts = await harness.perform(Explain(id, current))
    assert facts is not None
    return facts


async def an_unknown_job_has_no_facts(harness: Harness) -> None:
    assert await harness.perform(Explain("unknown")) is None


async def the_facts_of_a_job_contain_its_record_and_the_time(harness: Harness) -> None:
    job = await harness.started()
    harness.clock.advance(3)

    assert await _facts(harness, job.id) == JobFacts(await harness.job(job.id), harness.clock(), paused=False, ahead=0)


async def the_id_of_a_chain_means_its_current_job(harness: Harness) -> None:
    first = await harness.claimed()
    following = next_job(first, "publish")
    await harness.settled(continued(first, following))

    assert (await _facts(harness, first.id)).record.id == following.id
    assert (await _facts(harness, following.id)).record.id == following.id
    assert (await _facts(harness, first.id, current=False)).record.id == first.id


async def the_facts_show_whether_the_type_is_paused(harness: Harness) -> None:
    one, other = await harness.started(), await harness.started(new_job("other"))
    await harness.perform(Pause(("resize",)))

    assert (await _facts(harness, one.id)).paused
    assert not (await _facts(harness, other.id)).paused


async def the_jobs_that_a_claim_prefers_are_counted(harness: Harness) -> None:
    """In the order of the claim: priority, due time, creation. Scheduled jobs and other types do not count."""
    ranked = [
        new_job(id="urgent", priority=7),
        new_job(id="high-1", priority=5),
        new_job(id="high-2", priority=5),
        new_job(id="usual-1"),
        new_job(id="usual-2"),
        new_job(id="low", priority=-5),
    ]
    await harness.start(
        *ranked, new_job(priority=9, delay=60), new_job(delay=60), new_job("other", priority=9), new_job(priority=-9)
    )
    harness.clock.advance(1)
    later = await harness.started(new_job(id="usual-3"))

    ids = [*(job.id for job in ranked), later.id]
    counted = {id: (await _facts(harness, id)).ahead for id in ids}

    order = ["urgent", "high-1", "high-2", "usual-1", "usual-2", "usual-3", "low"]
    assert counted == {id: order.index(id) for id in order}
    assert [job.id for job in await harness.claim(limit=7)] == order


async def only_a_due_job_has_others_ahead(harness: Harness) -> None:
    await harness.start(*(new_job() for _ in range(3)))
    scheduled = await harness.started(new_job(delay=60))
    (running,) = await harness.claim()

    assert (await _facts(harness, scheduled.id)).ahead == 0
    assert (await _facts(harness, running.id)).ahead == 0

    harness.clock.advance(60)
    assert (await _facts(harness, scheduled.id)).ahead == 2


async def the_count_of_jobs_ahead_is_limited(harness: Harness) -> None:
    await harness.start(*(new_job(priority=number % 3) for number in range(AHEAD_LIMIT + 50)))
    last = await harness.started()

    assert (await _facts(harness, last.id)).ahead == AHEAD_LIMIT


async def a_blocked_job_names_the_chains_that_it_waits_for(harness: Harness) -> None:
    done, running = await harness.claimed(), await harness.claimed()
    broken, continuing = await harness.claimed(), await harness.claimed()
    dropped = await harness.started(new_job("other"))
    job = await harness.started(
        new_job("total", after=(done.id, running.id, broken.id, continuing.id, dropped.id), delay=60)
    )
    await harness.settle(completed(done), failed(broken), continued(continuing, next_job(continuing, "publish")))
    await harness.perform(CancelChains((dropped.id,)))

    facts = await _facts(harness, job.id)

    assert facts.record.open_blockers == 4
    assert facts.blockers == (
        OpenBlocker(running.id, "resize", Status.RUNNING),
        OpenBlocker(broken.id, "resize", Status.FAILED),
        OpenBlocker(continuing.id, "resize", Status.PENDING),
        OpenBlocker(dropped.id, "other", Status.CANCELLED),
    )


async def a_job_with_many_blockers_names_the_first_open_ones(harness: Harness) -> None:
    blockers = [new_job("other", id=f"blocker-{number:03}") for number in range(150)]
    await harness.start(*blockers)
    job = await harness.started(new_job(after=tuple(each.id for each in blockers)))
    for claimed in await harness.claim("other", limit=120):
        await harness.settled(completed(claimed))

    facts = await _facts(harness, job.id)

    assert facts.record.open_blockers == 30
    assert [each.chain_id for each in facts.blockers] == [f"blocker-{120 + n:03}" for n in range(NAMED_BLOCKERS)]


async def the_facts_are_read_in_a_transaction(harness: Harness) -> None:
    job = await harness.started()
    tx = await harness.begin()

    facts = await tx.perform(Explain(job.id))

    await tx.rollback()
    assert facts is not None
    assert facts.record.id == job.id


async def a_job_that_is_due_in_a_microsecond_is_not_ahead(harness: Harness) -> None:
    await harness.start(new_job(priority=1, at=harness.clock() + SECOND + 1))
    job = await harness.started()
    harness.clock.advance(1)

    assert (await _facts(harness, job.id)).ahead == 0

    harness.clock.advance(1e-6)
    assert (await _facts(harness, job.id)).ahead == 1
