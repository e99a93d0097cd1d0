"""Stores that processes share, and supervisors on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast import Retry
from holdfast.supervisor import crash_delay
from tests.supervisor.harness import ADDRESSES, Harness


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    harness = Harness(tmp_path)
    async with harness.client:
        yield harness


@pytest.fixture(params=ADDRESSES)
async def each_harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Harness]:
    harness = Harness(tmp_path, ADDRESSES[request.param](tmp_path))
    async with harness.client:
        yield harness


@pytest.fixture
def quick_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that die soon after their start are replaced after tenths of a second."""
    monkeypatch.setattr(crash_delay, "CRASHING", Retry(initial=0.2, multiplier=2, jitter=0, max_attempts=None))
