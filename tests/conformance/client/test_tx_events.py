"""Events of operations through `tx=`: delivered once, after the commit, and never after a rollback. SQL stores only.

The application's connections have no commit hook here. Those that have one are tested with the stores' drivers.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from holdfast import Event, Jobs, Plugin
from tests.conformance.client.application import Application, run
from tests.conformance.client.harness import TIMEOUT, ClientHarness, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store
from tests.conformance.client.tx_undone import observed, other_client, undo


async def test_events_are_delivered_after_the_commit(harness: ClientHarness, application: Application) -> None:
    double = harness.jobs.job(value)

    async with application.transaction() as tx:
        chain = await harness.client.start(double.bind(1), tx=tx)
        many = await harness.client.start_many([double.bind(number) for number in range(2)], tx=tx)
        await harness.client.stats()
        assert harness.reported == []

    await harness.client.stats()
    assert observed(harness) == [("created", each.id) for each in (chain, *many)]

    await harness.client.stats()
    assert len(harness.reported) == 3


async def test_a_rollback_delivers_nothing(harness: ClientHarness, application: Application) -> None:
    double = harness.jobs.job(value)

    async def body(tx: Any) -> None:
        await harness.client.start(double.bind(1), tx=tx, id="order")

    await undo(application, body)
    assert (await harness.client.list_chains()).items == []
    assert harness.reported == []

    await harness.client.start(double.bind(1), id="order")
    assert observed(harness) == [("created", "order")]


async def test_a_chain_that_was_deleted_by_the_transaction_that_rolled_back(
    harness: ClientHarness, application: Application
) -> None:
    """Neither the start nor the deletion took effect, although the chain does not exist."""
    double = harness.jobs.job(value)

    async def body(tx: Any) -> None:
        chain = await harness.client.start(double.bind(1), tx=tx)
        await harness.client.delete([chain], tx=tx)

    await undo(application, body)
    await harness.client.stats()
    assert harness.reported == []

    async with application.transaction() as tx:
        await body(tx)
    await harness.client.stats()
    assert [event.kind for event in harness.reported] == ["created", "deleted"]


async def test_a_savepoint_that_is_rolled_back_delivers_nothing(
    harness: ClientHarness, application: Application
) -> None:
    double = harness.jobs.job(value)
    later = await harness.client.start(double.bind(0), delay=100)
    harness.reported.clear()

    async with application.transaction() as tx:
        kept = await harness.client.start(double.bind(1), tx=tx)
        await run(tx.execute("savepoint point"))
        await harness.client.start(double.bind(2), tx=tx)
        await harness.client.cancel(later, tx=tx)
        await harness.client.cancel(kept, tx=tx)
        await run(tx.execute("rollback to savepoint point"))
        also = await harness.client.start(double.bind(3), tx=tx)

    await harness.client.stats()
    assert observed(harness) == [("created", kept.id), ("created", also.id)]


async def test_every_operation_has_the_events_that_it_has_without_a_transaction(
    harness: ClientHarness, application: Application
) -> None:
    double = harness.jobs.job(value)

    async def operate(name: str, **options: Any) -> None:
        chain = await harness.client.start(double.bind(1), id=f"{name}-chain", key=name, delay=100, **options)
        again = await harness.client.start(double.bind(1), key=name, **options)
        assert again.deduplicated
        waiting = await harness.client.start(double.bind(1), id=f"{name}-waiting", after=[chain], **options)
        await harness.client.run_now(chain, **options)
        await harness.client.cancel(chain, **options)
        await harness.client.cancel(chain, **options)
        await harness.client.retry(chain, **options)
        async with harness.client.completing(chain, **options) as current:
            await current.start(double.bind(2), id=f"{name}-side")
            await current.continue_with(double.bind(3))
            await current.output(4)
        await harness.client.delete([waiting], **options)

    await operate("alone")
    alone = [_shape(event) for event in harness.reported]
    harness.reported.clear()

    async with application.transaction() as tx:
        await operate("with", tx=tx)
        assert harness.reported == []
    await harness.client.stats()

    assert [_shape(event) for event in harness.reported] == alone
    kinds = [event[0] for event in alone]
    assert {*kinds} == {
        "created", "made_due", "cancelled", "retried", "continued", "completed", "unblocked", "deleted",
    }  # fmt: skip


def _shape(event: Any) -> tuple[Any, ...]:
    """An event without the ids that differ between two runs."""
    given = {name: value for name in event.__struct_fields__ if (value := getattr(event, name)) is not None}
    ids = {"job_id", "chain_id", "key"}
    named = {name: str(given[name]).partition("-")[2] for name in ids & {*given} if "-" in str(given[name])[:6]}
    return event.kind, {name: value for name, value in given.items() if name not in ids}, {*given}, named


async def test_a_wake_up_delivers_without_another_call(harness: ClientHarness, application: Application) -> None:
    double = harness.jobs.job(value)
    loop, delivered = asyncio.get_running_loop(), asyncio.Event()

    def observe(event: Event) -> None:
        loop.call_soon_threadsafe(delivered.set)

    client = other_client(harness, observers=[observe])

    async with application.transaction() as tx:
        await client.start(double.bind(1), delay=100, tx=tx)

    await asyncio.wait_for(delivered.wait(), TIMEOUT)
    await client.close()


async def test_the_log_has_the_events_of_a_transaction_after_the_commit(
    harness: ClientHarness, application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    double = harness.jobs.job(value)
    client = other_client(harness)

    with caplog.at_level(logging.INFO, "holdfast"):
        await undo(application, lambda tx: client.start(double.bind(1), tx=tx))
        async with application.transaction() as tx:
            chain = await client.start(double.bind(1), tx=tx)
        await client.close()

    created = [record for record in caplog.records if getattr(record, "holdfast_event", None) == "created"]
    assert [record.holdfast_chain_id for record in created] == [chain.id]  # type: ignore[attr-defined]


async def test_observers_and_plugins_of_the_registry_receive_the_events_after_the_commit(
    harness: ClientHarness, application: Application
) -> None:
    class Sending(Plugin):
        def observe(self, event: Event, /) -> None:
            received.append(("plugin", event.kind))

        def carrier(self) -> dict[str, str]:
            return {"sent": "along"}

    received: list[tuple[str, str]] = []
    included = Jobs(observers=[lambda event: received.append(("observer", event.kind))], plugins=[Sending()])
    echo = included.job(value)
    harness.jobs.include(included)

    await undo(application, lambda tx: harness.client.start(echo.bind(1), tx=tx))
    async with application.transaction() as tx:
        chain = await harness.client.start(echo.bind(2), tx=tx)
        assert received == []
    found = await harness.client.get(chain)

    assert received == [("plugin", "created"), ("observer", "created")]
    assert found.job.carrier == {"sent": "along"}
