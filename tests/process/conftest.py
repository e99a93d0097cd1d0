"""A store that processes can share, and a fleet on it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.process.fleet import Fleet
from tests.process.gate import Gate
from tests.process.harness import GROUNDS, Harness


@pytest.fixture(params=GROUNDS)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Harness]:
    with GROUNDS[request.param](tmp_path) as harness:
        yield harness


@pytest.fixture
def fleet(harness: Harness) -> Generator[Fleet]:
    fleet = Fleet(harness.url)
    yield fleet
    fleet.close()


@pytest.fixture
def gate(tmp_path: Path) -> Generator[Gate]:
    gate = Gate(tmp_path)
    yield gate
    gate.close()
