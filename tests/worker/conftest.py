"""Every worker test runs twice: with wake-ups, and with none ever arriving."""

from __future__ import annotations

import pytest

from holdfast.stores.memory import MemoryStore
from holdfast.testing.clock import ManualClock
from holdfast.wakeups import ANYTHING, NoWakeups
from tests.worker.stage import Stage


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Look for lost jobs, and for a blocked loop, more often than once a second."""
    monkeypatch.setattr("holdfast.worker.worker.REAP_EVERY", 0.1)
    monkeypatch.setattr("holdfast.worker.watchdog.BEAT", 0.05)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["woken", "polling"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> MemoryStore:
    if request.param == "polling":
        return MemoryStore(clock=clock, wakeups=NoWakeups())
    store = MemoryStore(clock=clock)
    # The store's clock is not the machine's: whoever sleeps until a due time is told when it comes.
    clock.subscribe(lambda: store.wakeups.send(ANYTHING))
    return store


@pytest.fixture
async def stage(store: MemoryStore, clock: ManualClock) -> Stage:
    return Stage(store, clock)
