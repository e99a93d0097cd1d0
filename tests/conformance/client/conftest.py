"""Each case runs on every store, with a blocking client and plain handlers, and with an async client and async ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from holdfast.testing.conformance import StoreFactory
from tests.conformance.client.async_adapters import Mode
from tests.conformance.client.harness import ClientHarness


@pytest.fixture(params=Mode, ids=lambda mode: mode.value)
async def harness(request: pytest.FixtureRequest, make_store: StoreFactory) -> AsyncGenerator[ClientHarness]:
    store = make_store()
    harness = ClientHarness(store, request.param)
    await store.open()
    try:
        yield harness
    finally:
        harness.threads.close()
        await store.close()
