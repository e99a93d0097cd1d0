"""The lifespans of registries and plugins, around the attempts of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast import Attempt, Client, Jobs, Plugin, SyncAttempt, Worker
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain
from tests.worker.harness import POLL, TIMEOUT
from tests.worker.registry_plugins import Noting, in_store
from tests.worker.registry_plugins import store as store


async def test_the_value_of_a_lifespan_is_the_state_of_the_attempts(store: MemoryStore) -> None:
    noting = Noting()
    seen: list[tuple[str, str]] = []
    outer = Jobs(lifespan=noting.lifespan("outer", "outer state"))
    inner = Jobs(lifespan=noting.lifespan("inner", "inner state"))
    without = Jobs()

    @outer.job
    async def of_outer(attempt: Attempt[Any, Any, str]) -> None:
        seen.append(("outer", attempt.state))

    @inner.job
    def of_inner(attempt: SyncAttempt[Any, Any, str]) -> None:
        seen.append(("inner", attempt.state))

    @without.job
    async def of_neither(attempt: Attempt[Any, Any, str]) -> None:
        seen.append(("without", attempt.state))

    outer.include(inner)
    outer.include(without)
    client = Client(store, outer)
    await client.start_many([of_outer.bind(), of_inner.bind(), of_neither.bind()])
    await drain(client)

    assert sorted(seen) == [("inner", "inner state"), ("outer", "outer state"), ("without", "outer state")]
    assert noting.notes == ["outer in", "inner in", "inner out", "outer out"]


async def test_without_a_lifespan_the_state_is_none(store: MemoryStore) -> None:
    jobs = Jobs()
    seen: list[Any] = []

    @jobs.job
    async def look(attempt: Attempt) -> None:
        seen.append(attempt.state)

    client = Client(store, jobs)
    await client.start(look.bind())
    await drain(client)

    assert seen == [None]


async def test_lifespans_enclose_every_attempt_and_those_of_plugins_are_outermost(store: MemoryStore) -> None:
    noting = Noting()

    class Living(Plugin):
        def lifespan(self, worker: Worker, /) -> Any:
            return noting.lifespan("plugin")(worker)

    jobs = Jobs(lifespan=noting.lifespan("registry"), plugins=[Living()])

    @jobs.job
    async def work() -> None:
        noting.notes.append("handler")

    client = Client(store, jobs)
    await client.start(work.bind())
    await drain(client)

    assert noting.notes == ["plugin in", "registry in", "handler", "registry out", "plugin out"]


@pytest.mark.parametrize("way", ["run", "async with"])
async def test_an_error_while_a_lifespan_is_entered_ends_the_worker(store: MemoryStore, way: str) -> None:
    noting = Noting()

    class Living(Plugin):
        def lifespan(self, worker: Worker, /) -> Any:
            return noting.lifespan("plugin")(worker)

    @asynccontextmanager
    async def broken(worker: Worker) -> AsyncGenerator[None]:
        raise ConnectionError("no model")
        yield

    jobs = Jobs(lifespan=broken, plugins=[Living()])

    @jobs.job
    async def work() -> None: ...

    client = Client(store, jobs)
    chain = await client.start(work.bind())
    worker = Worker(client, poll_interval=POLL)
    with pytest.raises(ConnectionError, match="no model"):
        await (worker.run(signals=False) if way == "run" else worker.__aenter__())

    assert noting.notes == ["plugin in", "plugin out"]
    assert (await in_store(client, chain.id)).status == "pending"


async def test_a_worker_can_be_stopped_while_a_lifespan_is_entered(store: MemoryStore) -> None:
    entering = asyncio.Event()
    ended: list[str] = []

    @asynccontextmanager
    async def endless(worker: Worker) -> AsyncGenerator[None]:
        entering.set()
        try:
            await asyncio.Event().wait()
            yield
        finally:
            ended.append("cancelled")

    jobs = Jobs(lifespan=endless)

    @jobs.job
    async def work() -> None: ...

    worker = Worker(Client(store, jobs))
    running = asyncio.create_task(worker.run(signals=False))
    await entering.wait()
    worker.stop()
    assert not running.done()
    worker.stop()

    async with asyncio.timeout(TIMEOUT):
        await running
    assert ended == ["cancelled"]


def test_a_lifespan_that_is_no_context_manager_is_refused() -> None:
    async def forgotten(worker: Worker) -> AsyncGenerator[None]:
        yield

    with pytest.raises(TypeError, match="asynccontextmanager"):
        Jobs(lifespan=forgotten)  # type: ignore[arg-type]
