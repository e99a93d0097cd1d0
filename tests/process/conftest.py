"""A store that processes can share, and a fleet on it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.process.fleet import Fleet
from tests.process.gate import Gate
from tests.process.ground import GROUNDS, Ground


@pytest.fixture(params=GROUNDS)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Ground]:
    with GROUNDS[request.param](tmp_path) as ground:
        yield ground


@pytest.fixture
def fleet(ground: Ground) -> Generator[Fleet]:
    fleet = Fleet(ground.url)
    yield fleet
    fleet.close()


@pytest.fixture
def gate(tmp_path: Path) -> Generator[Gate]:
    gate = Gate(tmp_path)
    yield gate
    gate.close()
