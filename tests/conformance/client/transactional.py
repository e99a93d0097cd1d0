"""The stores that can share the application's own transaction, each with an application on the same database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast.testing.conformance import StoreFactory
from tests.conformance.client.application import Application
from tests.conformance.client.harness import ClientHarness
from tests.conformance.conftest import STORES


@pytest.fixture(params=["sqlite", "postgres"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFactory:
    return STORES[request.param](tmp_path)


@pytest.fixture
async def application(harness: ClientHarness, tmp_path: Path) -> AsyncGenerator[Application]:
    application = Application(tmp_path if harness.store.name.startswith("sqlite") else None, harness.mode)
    async with application.running():
        yield application
