"""Starts with a key or an id find the existing chain, or change the one that has not begun."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest

from holdfast import (
    Chain,
)
from holdfast.registry.options import StartKeywords
from tests.conformance.client.harness import ClientHarness, in_time, value


async def test_a_key_finds_the_incomplete_chain(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    first = await harness.client.start(resize.bind(1), key="img-1")
    again = await harness.client.start(resize.bind(2), key="img-1")
    other_key = await harness.client.start(resize.bind(3), key="img-2")
    await harness.drain()
    another = await harness.client.start(resize.bind(4), key="img-1")

    assert (again.id, again.deduplicated, again.job.input) == (first.id, True, {"number": 1})
    assert not other_key.deduplicated
    assert (another.id != first.id, another.deduplicated) == (True, False)


async def test_a_key_finds_a_chain_at_any_job(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    first = await harness.client.start(resize.bind(1), key="img-1")
    async with harness.client.completing(first) as current:
        await current.continue_with(resize.bind(2))
    again = await harness.client.start(resize.bind(3), key="img-1")

    assert (again.id, again.deduplicated, again.status, again.job.index) == (first.id, True, "pending", 1)


async def test_dedup_any_window_and_exclude(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)
    first = await harness.client.start(resize.bind(1), key="img-1")
    await harness.drain()
    harness.clock.advance(100)

    seen = await harness.client.start(resize.bind(2), key="img-1", dedup="any")
    seen_in_time = await harness.client.start(resize.bind(2), key="img-1", dedup="any", window=101)
    too_late = await harness.client.start(resize.bind(2), key="img-1", dedup="any", window=99)
    spared = await harness.client.start(resize.bind(3), key="img-1", dedup="any", exclude=[first, too_late.id])

    assert (seen.id, seen_in_time.id) == (first.id, first.id)
    assert len({first.id, too_late.id, spared.id}) == 3


async def test_a_key_belongs_to_its_type(harness: ClientHarness) -> None:
    resize, shrink = harness.jobs.job(value), harness.jobs.job(name="shrink")(value)

    first = await harness.client.start(resize.bind(1), key="img-1")
    other = await harness.client.start(shrink.bind(1), key="img-1")

    assert first.id != other.id


async def test_one_key_twice_in_one_batch_is_one_chain(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    first, second = await harness.client.start_many([resize.bind(n).options(key="img-1") for n in range(2)])

    assert (first.id, first.deduplicated) == (second.id, False)
    assert second.deduplicated
    assert len(harness.reported) == 1


async def test_many_starters_with_one_key_create_one_chain(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    chains = await in_time(asyncio.gather(*(harness.client.start(resize.bind(n), key="img-1") for n in range(20))))

    assert len({chain.id for chain in chains}) == 1
    assert sum(not chain.deduplicated for chain in chains) == 1


async def test_replace_changes_the_chain_that_has_not_begun(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    first = await harness.client.start(resize.bind(1), key="user-7", delay=60, priority=3)
    again, other = await harness.client.start_many(
        [resize.bind(2).options(key="user-7", replace=True, priority=5), resize.bind(3).options(key="user-8")]
    )

    assert (again.id, again.deduplicated, again.job.input, again.job.priority) == (first.id, True, {"number": 2}, 5)
    assert again.scheduled_at == harness.time
    assert not other.deduplicated
    assert [event.job_id for event in harness.reported] == [first.id, other.id]
    await harness.drain()
    assert (await harness.client.wait(first)) == 2


async def test_debounce_moves_the_chain_until_debounce_max(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)
    begun = harness.time
    chains: list[Chain[Any]] = []
    for number in range(4):
        chains.append(await harness.client.start(resize.bind(number), key="user-7", debounce=5, debounce_max=12))
        harness.clock.advance(4)

    assert [chain.scheduled_at for chain in chains] == [begun + timedelta(seconds=each) for each in (5, 9, 12, 12)]
    chain = chains[-1]
    assert chain.job.input == {"number": 3}
    await harness.drain()
    later = await harness.client.start(resize.bind(9), key="user-7", debounce=5)
    assert (later.deduplicated, later.id != chain.id) == (False, True)


async def test_many_starters_that_replace_create_one_chain_and_one_input_wins(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    starts = (harness.client.start(resize.bind(n), key="user-7", replace=True) for n in range(64))
    chains = await in_time(asyncio.gather(*starts))

    assert len({chain.id for chain in chains}) == 1
    assert sum(not chain.deduplicated for chain in chains) == 1
    stored = await harness.client.get(chains[0])
    assert stored is not None
    assert stored.job.input["number"] in range(64)


async def test_replace_and_debounce_are_checked_before_anything_is_written(harness: ClientHarness) -> None:
    bound = harness.jobs.job(value).bind(1)
    wrong: list[tuple[StartKeywords, str]] = [
        ({"replace": True}, "a key"),
        ({"debounce": 5}, "a key"),
        ({"debounce_max": 5, "key": "k"}, "needs debounce"),
        ({"replace": True, "debounce_max": 5, "key": "k"}, "needs debounce"),
        ({"replace": True, "key": "k", "dedup": "any"}, "exclude dedup"),
        ({"debounce": 5, "key": "k", "delay": 1}, "excludes delay and at"),
        ({"debounce": 0, "key": "k"}, "debounce must be more than 0"),
    ]
    for options, complaint in wrong:
        with pytest.raises(ValueError, match=complaint):
            await harness.client.start(bound, **options)
    with pytest.raises(TypeError, match="replace must be True or False"):
        await harness.client.start(bound, key="k", replace=cast("Any", 1))

    assert (await harness.client.list_chains()).items == []


async def test_an_id_of_the_callers_own_makes_starting_again_safe(harness: ClientHarness) -> None:
    resize = harness.jobs.job(value)

    first = await harness.client.start(resize.bind(1), id="order-7")
    again = await harness.client.start(resize.bind(2), id="order-7")

    assert (first.id, again.id, again.deduplicated) == ("order-7", "order-7", True)
    assert again.job.input == {"number": 1}
