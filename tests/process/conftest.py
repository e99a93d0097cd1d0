"""A store that processes can share, and a fleet on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast import SyncClient
from tests.process.fleet import Fleet
from tests.process.work import jobs


class Ground:
    """A store's address, a client on it, and the ledger beside it."""

    def __init__(self, url: str, client: SyncClient, ledger: Callable[[], list[tuple[int, str]]]) -> None:
        self.url = url
        self.client = client
        self.ledger = ledger


@pytest.fixture
def ground(tmp_path: Path) -> Generator[Ground]:
    path = tmp_path / "jobs.db"
    with SyncClient(f"sqlite:///{path}", jobs) as client:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table ledger (number integer not null, token text not null)")

        def ledger() -> list[tuple[int, str]]:
            with closing(sqlite3.connect(path)) as connection:
                return connection.execute("select number, token from ledger order by number").fetchall()

        yield Ground(f"sqlite:///{path}", client, ledger)


@pytest.fixture
def fleet(ground: Ground) -> Generator[Fleet]:
    fleet = Fleet(ground.url)
    yield fleet
    fleet.close()
