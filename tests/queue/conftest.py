"""Every behaviour of the queue on every store that the conformance suite knows, under a clock that tests move."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from holdfast import Store
from holdfast.engine.wakeups import ANYTHING
from holdfast.testing.clock import ManualClock
from holdfast.testing.conformance import StoreFactory
from tests.conformance.conftest import make_store as make_store
from tests.queue.stage import Stage


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(make_store: StoreFactory, clock: ManualClock) -> AsyncGenerator[Store]:
    store = make_store()
    store.clock = clock
    await store.open()
    # The store's clock is not the machine's: whoever sleeps until a due time is told when it comes.
    unsubscribe = clock.subscribe(lambda: store.wakeups.send(ANYTHING))
    yield store
    unsubscribe()
    await store.close()


@pytest.fixture
async def stage(store: Store, clock: ManualClock) -> Stage:
    return Stage(store, clock)
