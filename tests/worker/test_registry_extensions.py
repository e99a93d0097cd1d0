"""Middlewares, observers, lifespans and plugins of the registry, in a worker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from holdfast import Attempt, Chain, Client, Event, Jobs, Plugin, SyncAttempt, Worker
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain
from tests.worker.harness import POLL, TIMEOUT
from tests.worker.process_jobs import hand_over
from tests.worker.process_jobs import jobs as process_jobs

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


async def test_middlewares_nest_from_plugins_to_the_included_registry(store: MemoryStore) -> None:
    noting = Noting()
    inner = Jobs(middlewares=[noting.middleware("included")], plugins=[noting.plugin("included plugin")])
    middle = Jobs(middlewares=[noting.middleware("middle")])
    outer = Jobs(middlewares=[noting.middleware("outer")], plugins=[noting.plugin("plugin")])

    @inner.job
    async def mine() -> None: ...

    @outer.job
    async def others() -> None: ...

    middle.include(inner)
    outer.include(middle)
    client = Client(store, outer)

    await client.start(mine.bind())
    await drain(client, middlewares=[noting.middleware("worker")])
    assert noting.notes == ["plugin", "included plugin", "worker", "outer", "middle", "included"]

    noting.notes.clear()
    await client.start(others.bind())
    await drain(client, middlewares=[noting.middleware("worker")])
    assert noting.notes == ["plugin", "worker", "outer"]


async def test_a_plugin_of_two_registries_is_called_once(store: MemoryStore) -> None:
    noting = Noting()
    plugin = noting.plugin("plugin")
    inner, outer = Jobs(plugins=[plugin]), Jobs(plugins=[plugin])

    @inner.job
    async def mine() -> None: ...

    outer.include(inner)
    client = Client(store, outer)
    await client.start(mine.bind())
    await drain(client)

    assert noting.notes == ["plugin"]


async def test_observers_receive_the_events_of_the_types_of_their_registry(store: MemoryStore) -> None:
    mine: list[Event] = []
    all_events: list[Event] = []
    inner, outer = Jobs(observers=[mine.append]), Jobs(observers=[all_events.append])

    @inner.job
    async def known() -> None: ...

    @outer.job
    async def other() -> None: ...

    outer.include(inner)
    client = Client(store, outer)
    await client.start_many([known.bind(), other.bind()])
    await drain(client)

    assert {event.type for event in mine} == {"known"}
    assert {event.type for event in all_events} == {"known", "other", None}
    assert "worker_started" in {event.kind for event in all_events}


async def test_a_registry_that_is_included_later_is_observed_too(store: MemoryStore) -> None:
    received: list[str] = []
    inner, outer = Jobs(observers=[lambda event: received.append(event.kind)]), Jobs()

    @inner.job
    async def known() -> None: ...

    client = Client(store, outer)
    outer.include(inner)
    await client.start(known.bind())

    assert received == ["created"]


async def test_an_observer_that_wants_no_event_costs_none(store: MemoryStore) -> None:
    class Choosy:
        def wants(self, kind: str) -> bool:
            return kind == "failed"

        def observe(self, event: Event) -> None:
            raise AssertionError

    inner, outer = Jobs(observers=[Choosy()]), Jobs()
    outer.include(inner)
    client = Client(store, outer)
    logging.getLogger("holdfast").setLevel(logging.CRITICAL)
    try:
        assert (client.observers.wants("failed"), client.observers.wants("created")) == (True, False)
    finally:
        logging.getLogger("holdfast").setLevel(logging.NOTSET)


async def test_a_plugin_that_raises_in_observe_is_logged_and_ignored(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Plugin):
        def observe(self, event: Event, /) -> None:
            raise RuntimeError("out of order")

    jobs = Jobs(plugins=[Broken()])

    @jobs.job
    async def fine() -> int:
        return 1

    client = Client(store, jobs)
    chain = await client.start(fine.bind())
    await drain(client)

    assert await client.wait(chain, timeout=TIMEOUT) == 1
    assert "an observer raised on completed" in caplog.text


async def test_a_plugin_that_raises_in_around_fails_the_attempt(store: MemoryStore) -> None:
    class Broken(Plugin):
        async def around(self, attempt: Any, call_next: Next, /) -> Any:
            raise RuntimeError("out of order")

    jobs = Jobs(plugins=[Broken()])

    @jobs.job
    async def fine() -> int:
        return 1

    client = Client(store, jobs)
    chain = await client.start(fine.bind())
    (event,) = await drain(client)

    assert event.kind == "retrying"
    assert (await in_store(client, chain.id)).error == "RuntimeError: out of order"


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


async def test_plugins_wrap_attempts_in_child_processes_from_outside(store: MemoryStore) -> None:
    within: ContextVar[str] = ContextVar("within", default="no attempt")

    class Wrapping(Plugin):
        async def around(self, attempt: Any, call_next: Next, /) -> Any:
            within.set(attempt.job.type)
            return await call_next()

        def carrier(self) -> dict[str, str]:
            return {"within": within.get()}

    jobs = Jobs(plugins=[Wrapping()])
    jobs.include(process_jobs)
    client = Client(store, jobs)
    chain = await client.start(hand_over.bind(2))
    ended = await drain(client)

    assert [(event.type, event.kind) for event in ended] == [("hand_over", "continued"), ("add", "completed")]
    found = await in_store(client, chain.id)
    assert found.job.carrier == {"within": "hand_over"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plugins": [Plugin]}, r"write Plugin\(\), not Plugin"),
        ({"plugins": [7]}, "a plugin has at least one of the methods"),
        ({"middlewares": ["name"]}, "middlewares=.* takes callables"),
        ({"observers": [7]}, "observers=.* takes callables"),
        ({"lifespan": "name"}, "lifespan is a function"),
        ({"name": 7}, "the name of a registry must be a str"),
    ],
)
def test_wrong_options_of_a_registry_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Jobs(**options)


def test_a_lifespan_that_is_no_context_manager_is_refused() -> None:
    async def forgotten(worker: Worker) -> AsyncGenerator[None]:
        yield

    with pytest.raises(TypeError, match="asynccontextmanager"):
        Jobs(lifespan=forgotten)  # type: ignore[arg-type]


def test_a_plugin_may_be_any_object_with_one_of_the_methods() -> None:
    class Alone:
        def carrier(self) -> dict[str, str]:
            return {}

    assert Jobs(plugins=[Alone()]).plugins  # type: ignore[list-item]


def test_a_registry_has_a_name() -> None:
    assert (Jobs().name, Jobs(name="shop").name, Jobs("shop").name) == ("default", "shop", "shop")
    with pytest.raises(ValueError, match="the name of a registry"):
        Jobs(name="")
