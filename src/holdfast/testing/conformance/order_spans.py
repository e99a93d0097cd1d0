"""An order of a chain, and an order of its jobs."""

from __future__ import annotations

from holdfast.engine.operations import CancelChains, Delete, RetryJobs, SkipJobs
from holdfast.testing.builders import completed, continued, failed, next_job
from holdfast.testing.conformance.builders import run_all
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, order, with_lanes


async def an_order_of_a_job_ends_with_the_job(harness: Harness) -> None:
    first, second = laned(order()), laned(order())
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)

    await harness.settled(continued(job, next_job(job)))

    assert [job.id for job in await harness.claim(limit=9)] == [second.id]


async def an_order_that_spans_the_chain_is_held_until_the_chain_ends(harness: Harness) -> None:
    first, second = laned(order(chain=True)), laned(order(chain=True))
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)
    await harness.settled(continued(job, next_job(job, "publish")))
    assert await harness.claim(limit=9) == []
    following = await harness.claim_one("publish")
    await harness.settled(continued(following, next_job(following, "publish")))
    assert await harness.claim(limit=9) == []

    last = await harness.claim_one("publish")
    await harness.settled(completed(last))

    assert [job.id for job in await harness.claim(limit=9)] == [second.id]


async def a_continuation_in_the_same_order_runs_before_the_others(harness: Harness) -> None:
    first, second = laned(order(chain=True)), laned(order(chain=True))
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)
    following = with_lanes(next_job(job, "resize"), order(chain=True))

    await harness.settled(continued(job, following))

    assert await run_all(harness) == [following.id, second.id]


async def a_failed_chain_holds_its_order(harness: Harness) -> None:
    first, second = laned(order(chain=True)), laned(order(chain=True))
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)
    await harness.settled(continued(job, next_job(job, "publish")))
    following = await harness.claim_one("publish")
    await harness.settled(failed(following))
    assert await harness.claim(limit=9) == []

    await harness.perform(SkipJobs((following.id,)))

    assert await run_all(harness) == [second.id]


async def a_cancelled_chain_leaves_its_order(harness: Harness) -> None:
    first, second = laned(order(chain=True)), laned(order(chain=True))
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)
    await harness.settled(continued(job, next_job(job, "publish")))

    await harness.perform(CancelChains((first.id,)))

    assert await run_all(harness) == [second.id]


async def a_retried_job_returns_its_chain_to_the_order_of_the_first_job(harness: Harness) -> None:
    first, second = laned(order(chain=True)), laned(order(chain=True))
    await harness.start(first, second)
    (job,) = await harness.claim(limit=9)
    following = next_job(job, "publish")
    await harness.settled(continued(job, following))
    await harness.perform(CancelChains((first.id,)))

    await harness.perform(RetryJobs((following.id,)))

    assert await harness.claim(limit=9) == []
    await harness.settled(completed(await harness.claim_one("publish")))
    assert await run_all(harness) == [second.id]


async def a_deleted_chain_leaves_the_orders_of_all_its_jobs(harness: Harness) -> None:
    first = await harness.claimed(laned(order(chain=True)))
    following = with_lanes(next_job(first, "resize"), order(), order(chain=True, name="saga"))
    await harness.settled(continued(first, following))
    waiting = [laned(order(name=name)) for name in ("account", "saga")]
    await harness.start(*waiting)

    await harness.perform(Delete((first.id,)))

    assert sorted(await run_all(harness)) == sorted(job.id for job in waiting)


async def an_order_and_a_limit_apply_together(harness: Harness) -> None:
    await harness.start(*(laned(order(key=str(n % 3)), limit(2)) for n in range(9)))
    done: list[str] = []
    while running := await harness.claim(limit=9):
        assert len(running) <= 2
        for job in running:
            await harness.settled(completed(job))
        done += [job.id for job in running]

    assert len(done) == 9
