"""A client whose handlers run in child processes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast import Client, Worker
from holdfast.stores.memory import MemoryStore
from tests.worker import process_jobs
from tests.worker.harness import Recorder


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(MemoryStore(), process_jobs.jobs) as client:
        yield client


@asynccontextmanager
async def working(client: Client, **options: Any) -> AsyncGenerator[Recorder]:
    recorder = Recorder()
    async with Worker(client, observers=[recorder], **options):
        yield recorder
