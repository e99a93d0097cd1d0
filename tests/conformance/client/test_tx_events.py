"""Events of operations through `tx=`: delivered once, after the commit, and never after a rollback. SQL stores only.

The application's connections have no commit hook here. Those that have one are tested with the stores' drivers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from holdfast import Client, Event, Jobs, Plugin, StoreUnavailable, SyncClient
from holdfast.client import tx_events
from holdfast.engine.operations import FindMarks, Mark, Operation
from holdfast.engine.wakeups import Listener
from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import ClientAdapter, Mode
from tests.conformance.client.harness import TIMEOUT, ClientHarness, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store


class Undone(Exception):
    """Ends a transaction or a savepoint without a commit."""


async def undo(application: Application, body: Callable[[Any], Awaitable[Any]]) -> None:
    """Run this in a transaction that is rolled back."""
    with suppress(Undone):
        async with application.transaction() as tx:
            await body(tx)
            raise Undone


def observed(harness: ClientHarness) -> list[tuple[str, str | None]]:
    return [(event.kind, event.chain_id or event.job_id) for event in harness.reported]


class Noted:
    """The operations that a store performs, inside and outside of the application's transactions."""

    def __init__(self, harness: ClientHarness, monkeypatch: pytest.MonkeyPatch) -> None:
        self.operations: list[Operation[Any]] = []
        self.down = False
        for name in ("perform", "perform_sync"):
            monkeypatch.setattr(harness.store, name, self._noting(getattr(harness.store, name)))
        for name in ("join", "join_sync"):
            monkeypatch.setattr(harness.store, name, self._joining(getattr(harness.store, name)))

    def of(self, kind: type[Operation[Any]]) -> list[Operation[Any]]:
        return [operation for operation in self.operations if isinstance(operation, kind)]

    def _noting(self, perform: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def noted(operation: Operation[Any]) -> Any:
            self.operations.append(operation)
            if self.down and isinstance(operation, FindMarks):
                raise StoreUnavailable("the store", "it is down")
            return perform(operation)

        return noted

    def _joining(self, join: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def joined(tx: Any) -> Any:
            transaction = join(tx)
            transaction.perform = self._noting(transaction.perform)
            return transaction

        return joined


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

    client = _client(harness, observers=[observe])

    async with application.transaction() as tx:
        await client.start(double.bind(1), delay=100, tx=tx)

    await asyncio.wait_for(delivered.wait(), TIMEOUT)
    await client.close()


async def test_closing_a_client_delivers_committed_events(
    harness: ClientHarness, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = harness.jobs.job(value)
    monkeypatch.setattr(harness.store.wakeups, "subscribe", _without_wakeups)

    async with application.transaction() as tx:
        await harness.client.start(double.bind(1), tx=tx)
    assert harness.reported == []

    await harness.client.close()
    assert [event.kind for event in harness.reported] == ["created"]


async def test_a_client_without_observers_sends_no_statement_for_events(
    harness: ClientHarness, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = harness.jobs.job(value)
    noted = Noted(harness, monkeypatch)
    client = _client(harness)

    async with application.transaction() as tx:
        await client.start(double.bind(1), tx=tx)
    await client.stats()

    assert noted.of(Mark) == noted.of(FindMarks) == []


async def test_calls_inside_an_open_transaction_do_not_search_its_mark(
    harness: ClientHarness, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = harness.jobs.job(value)
    monkeypatch.setattr(harness.store.wakeups, "subscribe", _without_wakeups)
    noted = Noted(harness, monkeypatch)

    async with application.transaction() as tx:
        for number in range(3):
            await harness.client.start(double.bind(number), tx=tx)

    assert len(noted.of(Mark)) == 3
    assert noted.of(FindMarks) == []


async def test_the_mark_of_a_rolled_back_transaction_is_searched_once(
    harness: ClientHarness, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = harness.jobs.job(value)
    noted = Noted(harness, monkeypatch)

    await undo(application, lambda tx: harness.client.start(double.bind(1), tx=tx))
    await harness.client.stats()
    looked = len(noted.of(FindMarks))
    await harness.client.stats()

    assert looked >= 1
    assert len(noted.of(FindMarks)) == looked


async def test_the_log_has_the_events_of_a_transaction_after_the_commit(
    harness: ClientHarness, application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    double = harness.jobs.job(value)
    client = _client(harness)

    with caplog.at_level(logging.INFO, "holdfast"):
        await undo(application, lambda tx: client.start(double.bind(1), tx=tx))
        async with application.transaction() as tx:
            chain = await client.start(double.bind(1), tx=tx)
        await client.close()

    created = [record for record in caplog.records if getattr(record, "holdfast_event", None) == "created"]
    assert [record.holdfast_chain_id for record in created] == [chain.id]  # type: ignore[attr-defined]


async def test_an_outage_during_the_search_delays_the_events_and_fails_no_call(
    harness: ClientHarness, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = harness.jobs.job(value)
    noted = Noted(harness, monkeypatch)
    noted.down = True

    async with application.transaction() as tx:
        chain = await harness.client.start(double.bind(1), tx=tx)
    assert (await harness.client.get(chain)).id == chain.id
    assert harness.reported == []

    noted.down = False
    await harness.client.get(chain)
    assert observed(harness) == [("created", chain.id)]


async def test_the_oldest_events_are_dropped_above_the_limit(
    harness: ClientHarness, application: Application, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    double = harness.jobs.job(value)
    monkeypatch.setattr(tx_events, "LIMIT", 3)

    async with application.transaction() as tx:
        await harness.client.start_many([double.bind(1), double.bind(2)], tx=tx)
        kept = [await harness.client.start(double.bind(number), tx=tx) for number in range(3)]
    await harness.client.stats()

    assert observed(harness) == [("created", chain.id) for chain in kept]
    assert "2 events" in caplog.text


def _without_wakeups(listener: Listener) -> Callable[[], None]:
    """Does not subscribe the listener."""
    return lambda: None


def _client(harness: ClientHarness, **options: Any) -> ClientAdapter:
    kind = Client if harness.mode is Mode.ASYNC else SyncClient
    return ClientAdapter(kind(harness.store, harness.jobs, **options), harness.threads)


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
