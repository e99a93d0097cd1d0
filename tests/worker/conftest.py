"""Every worker test runs three times: in memory with wake-ups, in memory without, and on PostgreSQL without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import Store
from holdfast.engine.wakeups import ANYTHING, NoWakeups
from holdfast.stores.memory import MemoryStore
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.clock import ManualClock
from tests.servers.postgres_schemas import emptied_address
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import WorkerHarness


@pytest.fixture(autouse=True)
def _short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Check for expired leases, a blocked event loop and idle connections more often than usual."""
    monkeypatch.setattr("holdfast.worker.reaper.REAP_EVERY", 0.1)
    monkeypatch.setattr("holdfast.worker.watchdog.CHECK_INTERVAL", 0.05)
    monkeypatch.setattr("holdfast.stores.postgres.connection.deadlines.TICK", 0.02)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["woken", "polling", "postgres"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    if request.param == "woken":
        store = MemoryStore(clock=clock)
        # A worker that sleeps until a due time must wake up when the test moves the store's clock.
        clock.subscribe(lambda: store.wakeups.send(ANYTHING))
        yield store
    elif request.param == "polling":
        yield MemoryStore(clock=clock, wakeups=NoWakeups())
    else:
        silent = PostgresStore(emptied_address(notify="off"), clock=clock, wakeups=NoWakeups())
        yield silent
        silent.close_sync()


@pytest.fixture
def faulty(store: Store) -> FaultyStore:
    return FaultyStore(store)


@pytest.fixture
async def harness(request: pytest.FixtureRequest, store: Store, clock: ManualClock) -> WorkerHarness:
    """A harness for workers; on the faulty store in tests that use it."""
    used: Store = request.getfixturevalue("faulty") if "faulty" in request.fixturenames else store
    return WorkerHarness(used, clock)


@pytest.fixture
def always_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every measured type counts as fast, however busy the machine is, and no job is overdue."""
    monkeypatch.setattr("holdfast.worker.durations.FAST", 1e9)
    monkeypatch.setattr("holdfast.worker.durations.ASSUMED", 0.0)
    monkeypatch.setattr("holdfast.worker.ahead_size.WINDOW", 1e9)
    monkeypatch.setattr("holdfast.worker.slots.OVERDUE", 1e9)
    monkeypatch.setattr("holdfast.worker.ahead.OVERDUE", 1e9)
