"""A store that processes can share, and worker processes on it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.process.fleet import Fleet
from tests.process.harness import HARNESSES, Harness
from tests.process.latch import Latch


@pytest.fixture(params=HARNESSES)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Harness]:
    with HARNESSES[request.param](tmp_path) as harness:
        yield harness


@pytest.fixture
def fleet(harness: Harness) -> Generator[Fleet]:
    fleet = Fleet(harness.url)
    yield fleet
    fleet.close()


@pytest.fixture
def latch(tmp_path: Path) -> Generator[Latch]:
    latch = Latch(tmp_path)
    yield latch
    latch.close()
