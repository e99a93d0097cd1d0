"""Marks of transactions without a commit hook: when they are written, searched and dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast import StoreUnavailable
from holdfast.client import tx_events
from holdfast.engine.operations import FindMarks, Mark, Operation
from holdfast.engine.wakeups import Listener
from tests.conformance.client.application import Application
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store
from tests.conformance.client.tx_undone import observed, other_client, undo


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
    client = other_client(harness)

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
