"""`blockers=`: types whose jobs wait for chains of declared types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast import ChainNotFound, Status, WrongBlockers, each
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness


@pytest.fixture
def seen(harness: ClientHarness) -> list[Any]:
    """The blockers of each run."""
    return []


@pytest.fixture
def extract(harness: ClientHarness) -> Any:
    @harness.jobs.job
    async def extract(page: int) -> str:
        return f"page {page}"

    return extract


@pytest.fixture
def count(harness: ClientHarness) -> Any:
    @harness.jobs.job
    async def count(page: int) -> int:
        return page

    return count


@pytest.fixture
def load(harness: ClientHarness, extract: Any, count: Any, seen: list[Any]) -> Any:
    async def load(attempt: AttemptAdapter, number: int) -> None:
        seen.append(attempt.blockers)

    return harness.job(load, blockers=(extract, count))


async def test_chains_of_the_declared_types_are_waited_for(
    harness: ClientHarness, extract: Any, count: Any, load: Any, seen: list[Any]
) -> None:
    async def merge(attempt: AttemptAdapter, number: int) -> None:
        seen.append(attempt.blockers)

    merging = harness.job(merge, blockers=each(extract))
    one, two, three = await harness.client.start_many([extract.bind(1), count.bind(2), extract.bind(3)])

    loaded = await harness.client.start(load.bind(), after=(one, two))
    await harness.client.start_many(
        [merging.bind().options(after=(one.id, three.id)), load.bind().options(after=(one, two))]
    )
    assert loaded.status is Status.BLOCKED
    await harness.drain()

    assert sorted(seen, key=str) == [("page 1", "page 3"), ("page 1", 2), ("page 1", 2)]


async def test_a_start_without_them_or_with_others_is_refused_and_writes_nothing(
    harness: ClientHarness, extract: Any, count: Any, load: Any
) -> None:
    @harness.jobs.job(blockers=each(extract))
    async def merge() -> None: ...

    one, two, three = await harness.client.start_many([extract.bind(1), count.bind(2), extract.bind(3)])
    before = (await harness.client.list_jobs()).items

    for bound in (
        load.bind(),
        load.bind().options(after=(one,)),
        load.bind().options(after=(one, one)),
        load.bind().options(after=(one, two, three)),
        load.bind().options(after=(two, one)),
        load.bind().options(after=(one.id, three.id)),
        merge.bind(),
        merge.bind().options(after=(one, two)),
    ):
        with pytest.raises(WrongBlockers):
            await harness.client.start(bound)
        with pytest.raises(WrongBlockers):
            await harness.client.start_many([extract.bind(4), bound])
    with pytest.raises(ChainNotFound):
        await harness.client.start(load.bind(), after=(one, "unknown"))

    assert (await harness.client.list_jobs()).items == before


async def test_continuations_side_chains_and_completions_need_them_too(
    harness: ClientHarness, extract: Any, count: Any, load: Any, seen: list[Any]
) -> None:
    one, two = await harness.client.start_many([extract.bind(1), count.bind(2)])
    right, wrong = [one.id, two.id], [two.id, one.id]
    cases = [(how, ids) for ids in (right, wrong, []) for how in ("return", "start", "continue")]

    async def order(attempt: AttemptAdapter, number: int) -> Any:
        how, ids = cases[number]
        if how == "return":
            return load.bind().options(after=ids)
        async with attempt.complete() as done:
            if how == "start":
                await done.start(load.bind(), after=ids)
                return done.output(None)
            return done.continue_with(load.bind(), after=ids)

    ordering = harness.job(order)
    calls = [ordering.bind(number).options(max_attempts=1) for number in range(len(cases))]
    chains = await harness.client.start_many(calls)
    await harness.drain()

    jobs = [await harness.now(chain) for chain in chains]
    assert [job.status for job in jobs] == [Status.COMPLETED] * 3 + [Status.FAILED] * 6
    assert {job.error and job.error.type for job in jobs[3:]} == {"WrongBlockers"}
    assert seen == [("page 1", 2)] * 3

    waiting = await harness.client.start(ordering.bind(0), delay=60)
    with pytest.raises(WrongBlockers):
        await _complete(harness, waiting, lambda current: current.continue_with(load.bind(), after=(two, one)))
    with pytest.raises(WrongBlockers):
        await _complete(harness, waiting, lambda current: current.start(load.bind(), after=(two, one)))
    assert (await harness.now(waiting)).status is Status.PENDING


async def _complete(harness: ClientHarness, chain: Any, act: Callable[[Any], Awaitable[Any]]) -> None:
    async with harness.client.completing(chain) as current:
        await act(current)
        await current.output(None)
