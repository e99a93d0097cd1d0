from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from holdfast.stores.sqlite import SqliteStore
from tests.servers.sqlite import migrated_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def store(path: Path) -> Generator[SqliteStore]:
    """An open store, for blocking code."""
    store = SqliteStore(migrated_file(path))
    store.open_sync()
    yield store
    store.close_sync()


@pytest.fixture
async def open_store(path: Path) -> AsyncGenerator[SqliteStore]:
    """An open store, for async code."""
    store = SqliteStore(migrated_file(path))
    await store.open()
    yield store
    await store.close()
