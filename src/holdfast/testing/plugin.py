"""The pytest plugin: fixtures for tests of an application's jobs, with an empty store per test.

    async def test_an_order_is_shipped_the_next_day(holdfast_client, holdfast_drain, holdfast_clock):
        client = holdfast_client(jobs)
        chain = await client.start(ship.bind(order_id=7))
        await holdfast_drain(client, advance=True)
        assert await client.wait(chain) == "shipped"

The store is a memory store, unless `holdfast_address` returns another address. A test that uses `holdfast_clock` has a
manual clock; without it the store keeps its own clock. Pytest imports this module wherever Holdfast is installed, so
its import must be fast.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Protocol, overload

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable
    from datetime import datetime

    from holdfast.client.client import Client
    from holdfast.client.references import Names
    from holdfast.client.sync_client import SyncClient
    from holdfast.core.retry import Retry
    from holdfast.engine.events import Event
    from holdfast.engine.observers import Observer
    from holdfast.engine.store import Store
    from holdfast.registry.jobs import Jobs
    from holdfast.testing.travel_clock import TravelClock
    from holdfast.worker import Middleware, Worker

POLL = 0.05


class MakeClient(Protocol):
    """Creates clients for the store of the test."""

    def __call__(self, jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> Client: ...


class MakeSyncClient(Protocol):
    """Creates blocking clients for the store of the test."""

    def __call__(self, jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> SyncClient: ...


class MakeWorker(Protocol):
    """Creates workers for a client of the test."""

    def __call__(
        self,
        client: Client,
        *,
        concurrency: int = 10,
        types: Names | None = None,
        retry: Retry | None = None,
        middlewares: Iterable[Middleware] = (),
    ) -> Worker: ...


class Drain(Protocol):
    """Runs due jobs until none is due: awaited with a Client, blocking with a SyncClient."""

    @overload
    def __call__(
        self,
        client: Client,
        *,
        advance: bool = False,
        until: datetime | None = None,
        types: Names | None = None,
        limit: int = 1000,
    ) -> Coroutine[Any, Any, list[Event]]: ...

    @overload
    def __call__(
        self,
        client: SyncClient,
        *,
        advance: bool = False,
        until: datetime | None = None,
        types: Names | None = None,
        limit: int = 1000,
    ) -> list[Event]: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "The address of the store of the fixtures of Holdfast. {tmp_path} is the folder of the test."
    parser.addini("holdfast_store", help, default="memory://")
    parser.getgroup("holdfast").addoption("--holdfast-store", help=help)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Close the connections of an async test on its own event loop, which is closed before fixtures are torn down."""
    store: Store | None = getattr(item, "funcargs", {}).get("holdfast_store")
    if (
        store is not None
        and isinstance(item, pytest.Function)
        and inspect.iscoroutinefunction(item.obj)
        and not _has_async_fixtures(item)
    ):
        item.obj = _closing(item.obj, store)
    return (yield)


def _has_async_fixtures(item: pytest.Function) -> bool:
    """Whether async fixtures end after the test: they may use the store, for example a running worker."""
    definitions: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    functions = [definition.func for named in definitions.values() for definition in named]
    return any(inspect.isasyncgenfunction(each) or inspect.iscoroutinefunction(each) for each in functions)


def _closing(test: Callable[..., Coroutine[Any, Any, None]], store: Store) -> Callable[..., Coroutine[Any, Any, None]]:
    @functools.wraps(test)
    async def run(*args: Any, **kwargs: Any) -> None:
        try:
            await test(*args, **kwargs)
        finally:
            await store.close()

    return run


@pytest.fixture
def holdfast_address(request: pytest.FixtureRequest) -> str:
    """The address of `holdfast_store`: --holdfast-store, else the setting `holdfast_store`, else `memory://`.

    Override this fixture to use a server that the tests start.
    """
    address: str = request.config.getoption("--holdfast-store") or request.config.getini("holdfast_store")
    return address.replace("{tmp_path}", str(request.getfixturevalue("tmp_path"))) if "{" in address else address


@pytest.fixture
def holdfast_clock() -> TravelClock:
    """The clock of `holdfast_store` in this test: it starts now and changes only when the test moves it.

    While freezegun or time-machine are active, it follows them.
    """
    from holdfast.core.clock import system_clock
    from holdfast.testing.travel_clock import TravelClock

    return TravelClock(system_clock())


@pytest.fixture
def holdfast_store(request: pytest.FixtureRequest, holdfast_address: str) -> Generator[Store]:
    """An empty, open store, with its tables. It has the manual clock only if the test uses `holdfast_clock`."""
    from holdfast.testing.store_of_test import opened_store

    manual = "holdfast_clock" in request.fixturenames
    with opened_store(holdfast_address, request.getfixturevalue("holdfast_clock") if manual else None) as store:
        yield store


@pytest.fixture
def holdfast_client(holdfast_store: Store) -> MakeClient:
    """Creates clients: ``client = holdfast_client(jobs)``. They need not be opened or closed."""
    from holdfast.client.client import Client

    def make(jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> Client:
        return Client(holdfast_store, jobs, observers=observers)

    return make


@pytest.fixture
def holdfast_sync_client(holdfast_store: Store) -> MakeSyncClient:
    """Creates blocking clients: ``client = holdfast_sync_client(jobs)``. They need not be opened or closed."""
    from holdfast.client.sync_client import SyncClient

    def make(jobs: Jobs, *, observers: Iterable[Observer | Callable[[Event], None]] = ()) -> SyncClient:
        return SyncClient(holdfast_store, jobs, observers=observers)

    return make


@pytest.fixture
def holdfast_worker() -> MakeWorker:
    """Creates workers: ``async with holdfast_worker(client): ...``. They notice moves of the clock at once."""
    from holdfast.worker import Worker

    def make(
        client: Client,
        *,
        concurrency: int = 10,
        types: Names | None = None,
        retry: Retry | None = None,
        middlewares: Iterable[Middleware] = (),
    ) -> Worker:
        return Worker(
            client, concurrency=concurrency, types=types, retry=retry, middlewares=middlewares, poll_interval=POLL,
            grace=1,
        )  # fmt: skip

    return make


@pytest.fixture
def holdfast_drain() -> Drain:
    """Runs due jobs until none is due: ``await holdfast_drain(client)``, or ``holdfast_drain(sync_client)``."""
    from holdfast.client.client import Client
    from holdfast.testing.drain import drain, drain_sync

    def run(client: Any, **options: Any) -> Any:
        return drain(client, **options) if isinstance(client, Client) else drain_sync(client, **options)

    return run
