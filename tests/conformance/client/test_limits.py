"""Limits, rates and orders through the client and its workers."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from holdfast import Fail, JobNotFound, Limit, LimitNotFound, NotPending, Order, Rate
from tests.conformance.client.harness import ClientHarness, value


async def _fail(number: int) -> int:
    raise Fail("on purpose")


async def test_an_operator_sets_and_resets_the_number_of_a_limit(harness: ClientHarness) -> None:
    double = harness.jobs.job(limits=[Limit("gpu", 2, by="number"), Rate("api", 100, per=60, burst=50)])(value)
    await harness.client.start(double.bind(1))

    await harness.client.set_limit("gpu", 0)
    assert await harness.drain() == []
    gpu = {limit.name: limit for limit in await harness.client.limits()}["gpu"]
    assert (gpu.number, gpu.declared, gpu.override) == (0, 2, True)
    assert [(lane.key, lane.running, lane.waiting) for lane in gpu.lanes] == [("1", 0, 1)]

    await harness.client.reset_limit("gpu")
    assert len(await harness.drain()) == 1
    gpu = {limit.name: limit for limit in await harness.client.limits()}["gpu"]
    assert (gpu.number, gpu.declared, gpu.override) == (2, 2, False)


async def test_one_lane_is_paused(harness: ClientHarness) -> None:
    double = harness.jobs.job(limits=[Limit("gpu", 2, by="number")])(value)
    await harness.client.start(double.bind(1))
    await harness.client.start(double.bind(2))

    await harness.client.set_limit("gpu", 0, key="1")
    assert len(await harness.drain()) == 1

    await harness.client.reset_limit("gpu", key="1")
    assert len(await harness.drain()) == 1


async def test_invalid_numbers_and_unknown_names_are_refused(harness: ClientHarness) -> None:
    double = harness.jobs.job(limits=[Order("account")])(value)
    await harness.client.start(double.bind(1))

    with pytest.raises(LimitNotFound):
        await harness.client.set_limit("unknown", 1)
    with pytest.raises(LimitNotFound):
        await harness.client.reset_limit("unknown")
    with pytest.raises(ValueError, match="order"):
        await harness.client.set_limit("account", 2)
    with pytest.raises(ValueError, match="at least 0"):
        await harness.client.set_limit("account", -1)


async def test_a_failed_job_holds_its_order_until_it_is_skipped(harness: ClientHarness) -> None:
    account = Order("account")
    fail = harness.jobs.job(limits=[account])(_fail)
    double = harness.jobs.job(limits=[account])(value)
    failing = await harness.client.start(fail.bind(1))
    waiting = await harness.client.start(double.bind(2))
    await harness.drain()
    found = await harness.client.get(waiting)
    assert found is not None
    assert found.status == "pending"
    with pytest.raises(NotPending):
        await harness.client.skip(waiting.job)
    with pytest.raises(JobNotFound):
        await harness.client.skip("unknown")

    await harness.client.skip(failing)

    await harness.drain()
    found = await harness.client.get(waiting)
    assert found is not None
    assert found.status == "completed"


async def test_a_worker_runs_no_more_than_the_limit_and_writes_the_declared_number(harness: ClientHarness) -> None:
    running, most = 0, 0

    async def render(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        running -= 1
        return number

    limited = harness.jobs.job(limits=[Limit("gpu", 3)])(render)
    chains = [await harness.client.start(limited.bind(number)) for number in range(30)]
    async with harness.worker(concurrency=10):
        for chain in chains:
            await harness.client.wait(chain, timeout=30)

    assert 1 < most <= 3
    (gpu,) = await harness.client.limits()
    assert (gpu.declared, gpu.override) == (3, False)


@pytest.mark.parametrize("claimed", [True, False], ids=["after a claim", "before the first claim"])
async def test_explain_names_the_limit_and_the_order_that_a_job_waits_for(
    harness: ClientHarness, *, claimed: bool
) -> None:
    account = Order("account", by="number")
    double = harness.jobs.job(limits=[Limit("gpu", 0), account])(value)
    chain = await harness.client.start(double.bind(7))
    other = await harness.client.start(double.bind(7))
    if claimed:
        await harness.drain()

    first, second = [await harness.client.explain(each) for each in (chain, other)]

    assert first is not None
    assert second is not None
    assert [reason.kind for reason in first.reasons] == ["limit", "no_worker"]
    assert [reason.kind for reason in second.reasons] == ["limit", "order", "no_worker"]
    assert chain.id in second.reasons[1].text
    assert not first.claimable


async def test_explain_gives_the_time_at_which_a_rate_allows_a_job(harness: ClientHarness) -> None:
    double = harness.jobs.job(limits=[Rate("api", 1, per=60)])(value)
    await harness.client.start(double.bind(1))
    waiting = await harness.client.start(double.bind(2))
    await harness.drain()

    explained = await harness.client.explain(waiting)

    assert explained is not None
    reason, _ = explained.reasons
    assert (reason.kind, reason.until) == ("rate", harness.time + timedelta(seconds=60))
