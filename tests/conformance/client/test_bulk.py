"""Bulk actions on every store: fixed members, a second check of each, and a report of what was skipped."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from holdfast import Client, Jobs, Status
from holdfast.bulk import Skip, bulk_action, bulk_actions, bulk_jobs, preview, start
from holdfast.bulk.batches import Batch
from holdfast.bulk.records import BulkRequest
from holdfast.engine.operations import Filter
from holdfast.testing import drain
from holdfast.testing.conformance import StoreFactory

jobs = Jobs()


@jobs.job
async def charge(order: int) -> None:
    raise ValueError(f"order {order}")


@pytest.fixture
async def client(make_store: StoreFactory) -> AsyncGenerator[Client]:
    store = make_store()
    async with Client(store, jobs) as client:
        yield client
    await store.close()


async def failed(client: Client, count: int) -> list[str]:
    """The ids of new chains that have failed, newest first."""
    chains = await client.start_many([charge.bind(order).options(max_attempts=1) for order in range(count)])
    await drain(client)
    return [chain.id for chain in reversed(chains)]


async def test_members_are_fixed_and_checked_again(client: Client) -> None:
    bulk_client = Client(client.store, bulk_jobs)
    ids = await failed(client, 12)
    await client.start(charge.bind(99), delay=1000)
    chosen = Filter(types=("charge",))

    seen = await preview(client.store, "retry", chosen)
    chain = await start(bulk_client, "retry", chosen, user="ann", query="type:charge", reason="the bank is back")
    (late,) = await failed(client, 1)
    await client.retry(ids[0])
    await client.delete([ids[1]])
    await drain(bulk_client)

    assert (seen.count, seen.complete, [shown.first.id for shown in seen.shown]) == (12, True, ids)
    report = await bulk_client.wait(chain)
    assert (report.action, report.total, report.done, report.skipped) == ("retry", 12, 10, 2)
    assert report.skips == [Skip(ids[0], "it is now pending"), Skip(ids[1], "it was deleted")]
    assert {job.id for job in (await client.list_jobs(status="pending")).items} >= {*ids} - {ids[1]}
    assert [job.id for job in (await client.list_jobs(status="failed")).items] == [late]
    entries = [entry for entry in await client.audit() if entry.user == "ann"]
    assert {entry.target for entry in entries} == {*ids[2:]}
    assert {(entry.action, entry.reason) for entry in entries} == {
        ("retry", f"bulk action {chain.id}: the bank is back")
    }
    (shown,) = await bulk_actions(bulk_client)
    assert shown == await bulk_action(bulk_client, chain.id)
    assert (shown.action, shown.user, shown.query, shown.status) == ("retry", "ann", "type:charge", "completed")
    assert (shown.position, shown.done, shown.skipped, shown.fraction) == (12, 10, 2, 1.0)


async def test_a_second_attempt_counts_what_the_first_one_changed(client: Client) -> None:
    failed_ids = await failed(client, 2)
    later = [(await client.start(charge.bind(order), delay=1000)).id for order in range(4)]
    paused = [("charge", Status.PENDING)]
    actions = {
        "retry": [(id, Status.FAILED) for id in failed_ids],
        "run_now": [(id, Status.PENDING) for id in later[:2]],
        "cancel": [(id, Status.PENDING) for id in later[2:]],
        "pause": paused,
        "delete": [(later[2], Status.CANCELLED), (later[3], Status.FAILED)],
    }

    for action, members in actions.items():
        request = BulkRequest(action, {}, "ann")  # type: ignore[arg-type]
        first = await Batch(client.store, request, id=action, again=False).change(members)
        second = await Batch(client.store, request, id=action, again=True).change(members)
        if action == "delete":
            why = "it was failed and is now cancelled"
            assert first == (1, [Skip(later[3], why)])
            assert second == (1, [Skip(later[3], why)])
        else:
            assert first == second == (len(members), [])

    other = await Batch(client.store, BulkRequest("cancel", {}, "ann"), id="two", again=True).change(actions["cancel"])
    assert other == (0, [Skip(later[2], "it was deleted"), Skip(later[3], "it is now cancelled")])
    assert (await client.stats()).types["charge"].paused
