"""Clients with two shards in memory."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from holdfast import Jobs, SyncClient
from holdfast.stores.memory import MemoryStore


@pytest.fixture
def jobs() -> Jobs:
    jobs = Jobs()

    @jobs.job
    async def resize(image: int) -> int:
        return image * 2

    return jobs


@pytest.fixture
def shards() -> dict[str, MemoryStore]:
    return {"eu": MemoryStore(), "us": MemoryStore()}


@pytest.fixture
def client(jobs: Jobs, shards: dict[str, MemoryStore]) -> Generator[SyncClient]:
    with SyncClient({**shards}, jobs) as client:
        yield client
