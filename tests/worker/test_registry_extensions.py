"""Middlewares, observers, lifespans and plugins of the registry, in a worker."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any

import pytest

from holdfast import Client, Event, Jobs, Plugin
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain
from tests.worker.harness import TIMEOUT
from tests.worker.process_jobs import hand_over
from tests.worker.process_jobs import jobs as process_jobs
from tests.worker.registry_plugins import Next, Noting, in_store
from tests.worker.registry_plugins import store as store


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


def test_a_plugin_may_be_any_object_with_one_of_the_methods() -> None:
    class Alone:
        def carrier(self) -> dict[str, str]:
            return {}

    assert Jobs(plugins=[Alone()]).plugins  # type: ignore[list-item]


def test_a_registry_has_a_name() -> None:
    assert (Jobs().name, Jobs(name="shop").name, Jobs("shop").name) == ("default", "shop", "shop")
    with pytest.raises(ValueError, match="the name of a registry"):
        Jobs(name="")
