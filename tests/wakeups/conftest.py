"""All wake-ups of the project, each with a new channel per test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("holdfast.testing.wakeups")

from holdfast.engine.wakeups import LocalWakeups  # noqa: E402
from holdfast.stores.nats.wakeups import NatsWakeups  # noqa: E402
from holdfast.stores.postgres import PostgresStore  # noqa: E402  (assertions are rewritten before they are imported)
from holdfast.stores.postgres.address import parse  # noqa: E402
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups  # noqa: E402
from holdfast.stores.redis import RedisStore  # noqa: E402
from holdfast.stores.redis.wakeups.wakeups import RedisWakeups  # noqa: E402
from holdfast.stores.sqlite import SqliteStore  # noqa: E402
from holdfast.testing.wakeups import WakeupsFactory  # noqa: E402
from tests.servers.nats import shared_nats  # noqa: E402
from tests.servers.postgres import shared_postgres  # noqa: E402
from tests.servers.postgres_schemas import fresh_address  # noqa: E402
from tests.servers.redis import shared_redis  # noqa: E402
from tests.wakeups.bus import BusWakeups, new_bus  # noqa: E402
from tests.wakeups.store_wakeups import StoreWakeups  # noqa: E402


def local(folder: Path) -> WakeupsFactory:
    wakeups = LocalWakeups()
    return lambda: wakeups


def postgres(folder: Path) -> WakeupsFactory:
    # A channel needs no tables.
    address = parse(shared_postgres().address(schema=f"w{new_bus()}"))
    return lambda: PostgresWakeups(address)


def sqlite(folder: Path) -> WakeupsFactory:
    return lambda: StoreWakeups(SqliteStore(f"sqlite:///{folder}/jobs.db"))


def redis(folder: Path) -> WakeupsFactory:
    address = shared_redis().address()
    return lambda: StoreWakeups(RedisStore(address))


def redis_for_sql(folder: Path) -> WakeupsFactory:
    address = shared_redis().address()
    return lambda: RedisWakeups.at(address)


def redis_for_postgres(folder: Path) -> WakeupsFactory:
    address, wakeups = fresh_address(), shared_redis().address()
    return lambda: StoreWakeups(PostgresStore(address, wakeups=wakeups))


def redis_for_sqlite(folder: Path) -> WakeupsFactory:
    wakeups = shared_redis().address()
    return lambda: StoreWakeups(SqliteStore(f"sqlite:///{folder}/jobs.db", wakeups=wakeups))


def nats_for_sql(folder: Path) -> WakeupsFactory:
    address = shared_nats().address()
    return lambda: NatsWakeups.at(address)


def nats_for_postgres(folder: Path) -> WakeupsFactory:
    address, wakeups = fresh_address(), shared_nats().address()
    return lambda: StoreWakeups(PostgresStore(address, wakeups=wakeups))


def nats_for_sqlite(folder: Path) -> WakeupsFactory:
    wakeups = shared_nats().address()
    return lambda: StoreWakeups(SqliteStore(f"sqlite:///{folder}/jobs.db", wakeups=wakeups))


def third_party(folder: Path) -> WakeupsFactory:
    address = f"bus://{new_bus()}"
    return lambda: BusWakeups(address)


ALL: dict[str, Callable[[Path], WakeupsFactory]] = {
    "local": local,
    "postgres": postgres,
    "sqlite": sqlite,
    "redis": redis,
    "redis for any": redis_for_sql,
    "redis for postgres": redis_for_postgres,
    "redis for sqlite": redis_for_sqlite,
    "nats for any": nats_for_sql,
    "nats for postgres": nats_for_postgres,
    "nats for sqlite": nats_for_sqlite,
    "third listener": third_party,
}


@pytest.fixture(params=ALL)
def make_wakeups(request: pytest.FixtureRequest, tmp_path: Path) -> WakeupsFactory:
    return ALL[request.param](tmp_path)
