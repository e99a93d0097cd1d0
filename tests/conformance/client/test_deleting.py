"""Delete and prune chains."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Attempt, StillReferenced
from tests.conformance.client.harness import ClientHarness, in_time, value


async def test_delete_returns_the_ids_that_existed(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    chains = await harness.client.start_many([double.bind(number) for number in range(3)])

    assert await harness.client.delete([chains[0], chains[1].id, "nothing"]) == [chains[0].id, chains[1].id]
    assert await harness.client.delete([chains[0]]) == []
    assert [chain.id for chain in (await harness.client.list_chains()).items] == [chains[2].id]
    assert await harness.client.get(chains[0]) is None


async def test_delete_refuses_while_an_unfinished_job_waits_for_it(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1), delay=100)
    blocked = await harness.client.start(double.bind(2), after=[blocker])
    bystander = await harness.client.start(double.bind(3), delay=100)

    with pytest.raises(StillReferenced) as raised:
        await harness.client.delete([bystander, blocker])

    assert raised.value.references == [(blocker.id, blocked.id)]
    assert await harness.client.get(bystander) is not None
    assert sorted(await harness.client.delete([blocker, blocked])) == sorted([blocker.id, blocked.id])


async def test_delete_takes_a_blocker_whose_dependents_are_finished(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    blocker = await harness.client.start(double.bind(1))
    blocked = await harness.client.start(double.bind(2), after=[blocker])
    await harness.drain()

    assert await harness.client.delete([blocker]) == [blocker.id]
    assert (await harness.now(blocked)).status == "completed"


async def test_delete_with_cascade_follows_the_blockers_of_every_job(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    deepest = await harness.client.start(double.bind(1))
    first_blocker = await harness.client.start(double.bind(1), after=[deepest])
    second_blocker = await harness.client.start(double.bind(1))
    chain = await harness.client.start(double.bind(1), after=[first_blocker])
    bystander = await harness.client.start(double.bind(1), delay=100)
    async with harness.client.completing(chain) as current:
        await current.continue_with(double.bind(2), after=[second_blocker])

    deleted = await harness.client.delete([chain], cascade=True)

    assert sorted(deleted) == sorted(each.id for each in (chain, first_blocker, second_blocker, deepest))
    assert [each.id for each in (await harness.client.list_chains()).items] == [bystander.id]


async def test_delete_of_a_running_job_is_seen_by_its_worker(harness: ClientHarness) -> None:
    running, reasons = asyncio.Event(), asyncio.Queue[Any]()

    @harness.jobs.job
    async def slow(attempt: Attempt) -> None:
        running.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            reasons.put_nowait(attempt.signal.reason)

    chain = await harness.client.start(slow.bind())
    async with harness.worker(lease=60, renew_interval=0.1):
        await in_time(running.wait())
        assert await harness.client.delete([chain]) == [chain.id]
        assert await in_time(reasons.get()) == "not_found"


async def test_prune_deletes_chains_past_their_keep_time(harness: ClientHarness) -> None:
    brief, kept = harness.jobs.job(keep=60)(value), harness.jobs.job(name="kept", keep=None)(value)
    chains = [await harness.client.start(brief.bind(1)), await harness.client.start(kept.bind(1))]
    unfinished = await harness.client.start(brief.bind(1), delay=10_000_000)
    await harness.drain()

    assert await harness.client.prune() == []
    harness.clock.advance(61)
    assert await harness.client.prune() == [chains[0].id]
    harness.clock.advance(1_000_000)
    assert await harness.client.prune() == []
    assert await harness.client.get(unfinished) is not None


async def test_keep_defaults_to_a_week(harness: ClientHarness) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))
    await harness.drain()

    harness.clock.advance(7 * 86_400 - 1)
    assert await harness.client.prune() == []
    harness.clock.advance(2)
    assert await harness.client.prune() == [chain.id]
