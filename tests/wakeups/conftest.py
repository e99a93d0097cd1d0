"""All wake-ups that the suite knows, each on a channel of its own per test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("holdfast.testing.wakeups")

from holdfast.engine.wakeups import LocalWakeups  # noqa: E402
from holdfast.stores.postgres import PostgresStore  # noqa: E402  (assertions are rewritten before they are imported)
from holdfast.stores.postgres.address import parse  # noqa: E402
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups  # noqa: E402
from holdfast.stores.redis import RedisStore  # noqa: E402
from holdfast.stores.redis.wakeups.wakeups import RedisWakeups  # noqa: E402
from holdfast.stores.sqlite import SqliteStore  # noqa: E402
from holdfast.testing.wakeups import Place  # noqa: E402
from tests.servers.postgres import fresh_address, shared_postgres  # noqa: E402
from tests.servers.redis import shared_redis  # noqa: E402
from tests.wakeups.bus import BusWakeups, new_bus  # noqa: E402
from tests.wakeups.of_store import StoreWakeups  # noqa: E402


def local(folder: Path) -> Place:
    wakeups = LocalWakeups()
    return lambda: wakeups


def postgres(folder: Path) -> Place:
    # A channel needs no tables.
    address = parse(shared_postgres().address(schema=f"w{new_bus()}"))
    return lambda: PostgresWakeups(address)


def sqlite(folder: Path) -> Place:
    return lambda: StoreWakeups(SqliteStore(f"sqlite:///{folder}/jobs.db"))


def redis(folder: Path) -> Place:
    address = shared_redis().address()
    return lambda: StoreWakeups(RedisStore(address))


def redis_for_sql(folder: Path) -> Place:
    address = shared_redis().address()
    return lambda: RedisWakeups.at(address)


def redis_for_postgres(folder: Path) -> Place:
    address, wakeups = fresh_address(), shared_redis().address()
    return lambda: StoreWakeups(PostgresStore(address, wakeups=wakeups))


def redis_for_sqlite(folder: Path) -> Place:
    wakeups = shared_redis().address()
    return lambda: StoreWakeups(SqliteStore(f"sqlite:///{folder}/jobs.db", wakeups=wakeups))


def plugged_in(folder: Path) -> Place:
    address = f"bus://{new_bus()}"
    return lambda: BusWakeups(address)


ALL: dict[str, Callable[[Path], Place]] = {
    "local": local,
    "postgres": postgres,
    "sqlite": sqlite,
    "redis": redis,
    "redis for any": redis_for_sql,
    "redis for postgres": redis_for_postgres,
    "redis for sqlite": redis_for_sqlite,
    "plugged in": plugged_in,
}


@pytest.fixture(params=ALL)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return ALL[request.param](tmp_path)
