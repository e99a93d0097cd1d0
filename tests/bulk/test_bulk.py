"""Bulk actions: which chains they include, how they are cancelled, and which process runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from holdfast import Chain, Client, Jobs, Status
from holdfast.bulk import (
    BulkReport,
    BulkRunner,
    FilterTooBroad,
    NothingToDo,
    Skip,
    bulk_action,
    bulk_jobs,
    members,
    preview,
    start,
)
from holdfast.engine.operations import Filter
from holdfast.testing import drain
from holdfast.worker import Worker

jobs = Jobs()


@jobs.job
async def charge(order: int) -> int:
    return order


@jobs.job
async def refund(order: int) -> int:
    return order


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    async with Client("memory://", jobs) as client:
        yield client


@pytest.fixture
def bulk(client: Client) -> Client:
    return Client(client.store, bulk_jobs)


async def scheduled(client: Client, count: int) -> list[Chain[Any]]:
    return await client.start_many([charge.bind(order).options(delay=1000) for order in range(count)])


async def test_a_cancelled_action_stops_before_its_next_batch(client: Client, bulk: Client) -> None:
    """The second batch waits until the action is cancelled: the members of the first are changed, no others."""
    await scheduled(client, 30)
    chain = await start(bulk, "run_now", Filter(), user="ann")
    reached = asyncio.Event()

    async def wait_in_the_second(attempt: Any, call_next: Any) -> Any:
        if attempt.job.index == 1:
            reached.set()
            await asyncio.Event().wait()
        return await call_next()

    async with Worker(bulk, middlewares=[wait_in_the_second]):
        await reached.wait()
        await client.cancel(chain.id)

    shown = await bulk_action(bulk, chain.id)
    assert shown is not None
    assert (shown.status, shown.total, shown.position, shown.done) == (Status.CANCELLED, 30, 5, 5)
    assert (await client.stats()).types["charge"].due == 5


async def test_a_runner_works_only_while_an_action_is_unfinished(client: Client) -> None:
    """Before and after an action, the runner is not in the list of workers. A second runner continues an action."""
    await scheduled(client, 3)
    first, second = BulkRunner(client.store), BulkRunner(client.store)
    chain = await start(first.client, "cancel", Filter(), user="ann")
    assert await client.workers() == []

    second.continue_left_over()
    report = await second.client.wait(chain, timeout=30)

    assert (report.done, report.skipped) == (3, 0)
    await second.idle()
    assert await client.workers() == []
    second.continue_left_over()
    await second.idle()
    assert await client.workers() == []
    await scheduled(client, 2)
    another = await start(second.client, "cancel", Filter(), user="ann")
    second.wake()
    assert (await second.client.wait(another, timeout=30)).done == 2
    await second.close()
    await first.close()


async def test_what_an_action_includes(client: Client, bulk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    chains = await scheduled(client, 4)
    await client.cancel(chains[0])
    await client.start(refund.bind(1))
    store = client.store

    assert (await preview(store, "cancel", Filter())).count == 4
    assert (await preview(store, "run_now", Filter())).count == 3
    assert (await preview(store, "run_now", Filter(scheduled=False))).count == 0
    assert (await preview(store, "retry", Filter())).count == 1
    assert (await preview(store, "delete", Filter())).count == 1
    assert (await preview(store, "delete", Filter(statuses=(Status.PENDING,)))).count == 4
    assert (await preview(store, "retry", Filter(statuses=(Status.PENDING,)))).count == 0
    assert (await preview(store, "pause", Filter())).types == ["charge", "refund"]
    with pytest.raises(NothingToDo, match="no job matches"):
        await start(bulk, "retry", Filter(types=("other",)), user="ann")

    action = await start(bulk, "cancel", Filter(), user="ann", types=["refund"])
    assert (await preview(store, "cancel", Filter())).count == 4, "bulk actions are no members of others"
    await drain(bulk)
    report: BulkReport = await bulk.wait(action)
    assert (report.done, report.skipped) == (1, 3)
    assert report.skips[0] == Skip(chains[3].id, "its current job is now of the type charge")

    paused = await start(bulk, "pause", Filter(), user="ann", types=["refund"])
    await drain(bulk)
    assert (await bulk.wait(paused)).skips == [Skip("charge", "not permitted")]

    with monkeypatch.context() as patch:
        patch.setattr(members, "_PREVIEW_PAGE", 1)
        seen = await preview(store, "cancel", Filter())
        assert (seen.count, seen.complete, seen.types) == (3, True, ["charge"]), "from the counts of the store"
    monkeypatch.setattr(members, "MOST", 2)
    seen = await preview(store, "cancel", Filter(key="none", chain_types=("charge",)))
    assert (seen.count, seen.complete) == (0, True)
    seen = await preview(store, "cancel", Filter(chain_types=("charge",)))
    assert (seen.count, seen.complete) == (2, False)
    capped = await bulk_action(bulk, (await start(bulk, "cancel", Filter(), user="ann")).id)
    assert capped is not None
    assert (capped.total, capped.capped) == (2, True)


async def test_a_filter_that_reads_too_much_changes_nothing(
    client: Client, bulk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scheduled(client, 3)
    for page in ("_PAGE", "_PREVIEW_PAGE"):
        monkeypatch.setattr(members, page, 1)

    seen = await preview(client.store, "cancel", Filter(chain_types=("charge",)), seconds=0.0)
    with pytest.raises(FilterTooBroad, match="narrow"):
        await members.fix(client.store, "cancel", Filter(), seconds=0.0)

    assert (seen.count, seen.complete) == (1, False)
