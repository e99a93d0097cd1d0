"""Fixtures of the queue tests: each test runs on every store of the conformance suite, with a manual clock."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from holdfast import Store
from holdfast.engine.wakeups import ANYTHING
from holdfast.testing.clock import ManualClock
from holdfast.testing.conformance import StoreFactory
from tests.conformance.conftest import make_store as make_store
from tests.queue.harness import Harness


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(make_store: StoreFactory, clock: ManualClock) -> AsyncGenerator[Store]:
    store = make_store()
    store.clock = clock
    await store.open()
    # Tests move the clock of the store. A wake-up ends the sleep of workers that wait for a due time.
    unsubscribe = clock.subscribe(lambda: store.wakeups.send(ANYTHING))
    yield store
    unsubscribe()
    await store.close()


@pytest.fixture
async def harness(store: Store, clock: ManualClock) -> Harness:
    return Harness(store, clock)
