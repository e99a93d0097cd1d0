"""The pytest plugin: fixtures for tests of an application's jobs, with one memory store per test.

    async def test_an_order_is_shipped_the_next_day(holdfast_client, holdfast_clock):
        client = holdfast_client(jobs)
        chain = await client.start(ship.bind(order_id=7))
        await drain(client, advance=True)
        assert await client.wait(chain) == "shipped"

Pytest imports this module wherever Holdfast is installed, so its import must be fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from holdfast.client.client import Client
    from holdfast.client.sync_client import SyncClient
    from holdfast.engine.events import Event
    from holdfast.engine.observers import Observer
    from holdfast.registry.jobs import Jobs
    from holdfast.stores.memory import MemoryStore
    from holdfast.testing.clock import ManualClock


class MakeClient(Protocol):
    """Creates clients for the store of the test."""

    def __call__(self, jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> Client: ...


class MakeSyncClient(Protocol):
    """Creates blocking clients for the store of the test."""

    def __call__(self, jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> SyncClient: ...


@pytest.fixture
def holdfast_clock() -> ManualClock:
    """The clock of `holdfast_store`: it starts at the current time and changes only when the test moves it."""
    from holdfast.core.clock import system_clock
    from holdfast.testing.clock import ManualClock

    return ManualClock(system_clock())


@pytest.fixture
def holdfast_store(holdfast_clock: ManualClock) -> MemoryStore:
    """An empty memory store."""
    from holdfast.engine.wakeups import ANYTHING
    from holdfast.stores.memory import MemoryStore

    store = MemoryStore(clock=holdfast_clock)
    holdfast_clock.subscribe(lambda: store.wakeups.send(ANYTHING))
    return store


@pytest.fixture
def holdfast_client(holdfast_store: MemoryStore) -> MakeClient:
    """Creates clients: ``client = holdfast_client(jobs)``. They need not be opened or closed."""
    from holdfast.client.client import Client

    def make(jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> Client:
        return Client(holdfast_store, jobs, observers=observers)

    return make


@pytest.fixture
def holdfast_sync_client(holdfast_store: MemoryStore) -> MakeSyncClient:
    """Makes blocking clients: ``client = holdfast_sync_client(jobs)``. There is nothing to open or close."""
    from holdfast.client.sync_client import SyncClient

    def make(jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> SyncClient:
        return SyncClient(holdfast_store, jobs, observers=observers)

    return make
