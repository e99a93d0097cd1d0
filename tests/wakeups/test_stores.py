"""A SQL store sends the same hints through Redis or NATS as through its own wake-ups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.stores.postgres import PostgresStore
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.conformance import CASES, Case, Mode, StoreFactory
from tests.servers.nats import shared_nats
from tests.servers.postgres_schemas import fresh_address
from tests.servers.redis import shared_redis


def sqlite(folder: Path, wakeups: str) -> StoreFactory:
    return lambda: SqliteStore(f"sqlite:///{folder}/jobs.db", wakeups=wakeups)


def postgres(folder: Path, wakeups: str) -> StoreFactory:
    address = fresh_address()
    return lambda: PostgresStore(address, wakeups=wakeups)


def redis() -> str:
    return shared_redis().address()


def nats() -> str:
    return shared_nats().address()


@pytest.mark.parametrize("bus", [redis, nats], ids=["through redis", "through nats"])
@pytest.mark.parametrize(("store", "mode"), [(sqlite, Mode.SYNC), (postgres, Mode.ASYNC)], ids=["sqlite", "postgres"])
@pytest.mark.parametrize("case", [case for case in CASES if case.topic == "wakeups"], ids=str)
def test_the_store_keeps_the_contract(
    case: Case, store: Callable[[Path, str], StoreFactory], mode: Mode, bus: Callable[[], str], tmp_path: Path
) -> None:
    case.run(store(tmp_path, bus()), mode)
