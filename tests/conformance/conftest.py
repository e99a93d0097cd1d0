"""All stores of the project. Each test gets an empty one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("holdfast.testing.conformance")

from holdfast.stores.memory import MemoryStore  # noqa: E402  (assertions are rewritten before they are imported)
from holdfast.stores.postgres import PostgresStore  # noqa: E402
from holdfast.stores.redis import RedisStore  # noqa: E402
from holdfast.stores.sharded.store import ShardedStore  # noqa: E402
from holdfast.stores.sqlite import SqliteStore  # noqa: E402
from holdfast.testing.conformance import StoreFactory  # noqa: E402
from tests.servers.postgres_schemas import emptied_address  # noqa: E402
from tests.servers.redis import shared_redis  # noqa: E402
from tests.servers.sqlite import migrated_file  # noqa: E402


def memory(folder: Path) -> StoreFactory:
    store = MemoryStore()
    return lambda: store


def sqlite(folder: Path) -> StoreFactory:
    address = migrated_file(folder / "jobs.db")
    return lambda: SqliteStore(address)


def redis(folder: Path) -> StoreFactory:
    address = shared_redis().address()
    return lambda: RedisStore(address)


def valkey(folder: Path) -> StoreFactory:
    address = shared_redis("valkey").address()
    return lambda: RedisStore(address)


def postgres(folder: Path) -> StoreFactory:
    address = emptied_address()
    return lambda: PostgresStore(address)


def sharded(folder: Path) -> StoreFactory:
    """Everything on one shard: the cases compare chains with each other, which only the chains of a shard can do."""
    store = ShardedStore({"a": MemoryStore(), "b": MemoryStore()}, home=lambda text: "a")
    return lambda: store


STORES: dict[str, Callable[[Path], StoreFactory]] = {
    "memory": memory,
    "sqlite": sqlite,
    "postgres": postgres,
    "redis": redis,
    "valkey": valkey,
}


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what other tests cover: each case makes blocking calls on Redis and async calls on Valkey.

    Both products get the same scripts, and both kinds of calls read the same answers.
    """
    if "HOLDFAST_EVERY_CASE" not in os.environ:
        items[:] = [item for item in items if not _is_covered(item)]


def _is_covered(item: pytest.Item) -> bool:
    parameters = set(item.name.strip("]").split("[")[-1].split("-"))
    return {"valkey", "sync"} <= parameters or (item.path.is_relative_to(HERE) and {"redis", "async"} <= parameters)


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFactory:
    return STORES[request.param](tmp_path)
