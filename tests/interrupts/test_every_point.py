"""A blocking call that is interrupted at any point leaves a client that works, on every store."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path

import pytest

from holdfast import Jobs, SyncClient
from holdfast.engine.store import Store
from holdfast.errors import WaitTimeout
from holdfast.queue import SyncQueue
from holdfast.stores.postgres import PostgresStore
from tests.conformance.conftest import STORES
from tests.interrupts.interrupting import interrupt_often
from tests.queue.addresses import ADDRESSES

# Exceptions in finalizers, and connections that the garbage collector closes, are expected here.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

jobs = Jobs()


@jobs.job
def noted(number: int) -> int:
    return number


@pytest.fixture(autouse=True)
def collected() -> Generator[None]:
    """Collect the connections that interruptions left open while their warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return STORES[request.param](tmp_path)()


@pytest.fixture
def client(store: Store) -> SyncClient:
    store.open_sync()
    store.migrate_sync()
    client = SyncClient(store, jobs)
    client.start(noted.bind(0))
    return client


def start(client: SyncClient) -> None:
    client.start(noted.bind(1))


def start_with_key(client: SyncClient) -> None:
    blocker = client.start(noted.bind(1))
    client.start(noted.bind(2), key="one", after=[blocker])


def get(client: SyncClient) -> None:
    client.get(client.start(noted.bind(1)))


def wait(client: SyncClient) -> None:
    chain = client.start(noted.bind(1))
    with pytest.raises(WaitTimeout):
        client.wait(chain, timeout=0.001)


def complete(client: SyncClient) -> None:
    chain = client.start(noted.bind(1))
    with client.completing(chain) as current:
        current.output(5)


def cancel(client: SyncClient) -> None:
    client.cancel(client.start(noted.bind(1)))


@pytest.mark.parametrize("call", [start, start_with_key, get, wait, complete, cancel])
def test_the_client_works_after_an_interruption_at_any_point(
    client: SyncClient, call: Callable[[SyncClient], None]
) -> None:
    interrupt_often(lambda: call(client), lambda: _works(client), stride=_stride(client.store))
    client.store.close_sync()


def test_a_queue_works_after_an_interruption_at_any_point(store: Store) -> None:
    store.open_sync()
    store.migrate_sync()
    queue: SyncQueue[int, int] = SyncQueue("numbers", store=store)
    queue.start()
    ids = map(str, count())

    def enqueue() -> None:
        queue.enqueue(next(ids), 1)

    interrupt_often(enqueue, enqueue, stride=_stride(store))
    queue.stop()
    store.close_sync()


@pytest.mark.parametrize("name", ["sqlite", "postgres", "redis"])
def test_opening_and_closing_may_be_interrupted_at_any_point(name: str, tmp_path: Path) -> None:
    address = ADDRESSES[name](tmp_path)

    def open_and_close() -> None:
        with SyncClient(address, jobs, migrate=True) as client:
            client.start(noted.bind(1))

    interrupt_often(open_and_close, open_and_close, stride=41)


def _stride(store: Store) -> int:
    """An interruption on PostgreSQL may cost a new session, which takes long."""
    return 23 if isinstance(store, PostgresStore) else 5


def _works(client: SyncClient) -> None:
    chain = client.start(noted.bind(2))
    found = client.get(chain)
    assert found is not None
    assert found.id == chain.id
