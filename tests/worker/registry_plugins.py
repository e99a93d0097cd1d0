"""A plugin that notes its calls, and a store for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast import Chain, Client, Plugin, Worker
from holdfast.stores.memory import MemoryStore

Next = Callable[[], Awaitable[Any]]


class Noting:
    """Middlewares and plugins that write when they are entered."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def middleware(self, name: str) -> Callable[[Any, Next], Awaitable[Any]]:
        async def note(attempt: Any, call_next: Next) -> Any:
            self.notes.append(name)
            return await call_next()

        return note

    def plugin(self, name: str) -> Plugin:
        noting = self

        class NotingPlugin(Plugin):
            async def around(self, attempt: Any, call_next: Next, /) -> Any:
                noting.notes.append(name)
                return await call_next()

        return NotingPlugin()

    def lifespan(self, name: str, value: Any = None) -> Callable[[Worker], Any]:
        @asynccontextmanager
        async def noted(worker: Worker) -> AsyncGenerator[Any]:
            assert isinstance(worker, Worker)
            self.notes.append(f"{name} in")
            try:
                yield value
            finally:
                self.notes.append(f"{name} out")

        return noted


async def in_store(client: Client, chain_id: str) -> Chain[Any]:
    chain = await client.get(chain_id)
    assert chain is not None
    return chain


@pytest.fixture
async def store() -> AsyncGenerator[MemoryStore]:
    store = MemoryStore()
    await store.open()
    yield store
    await store.close()
