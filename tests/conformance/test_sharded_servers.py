"""Sharded stores of two SQLite files, and of a database and a Redis namespace, keep the contract.

Everything is on one shard. A selection, async: every case runs on two memory stores, in both modes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.engine.store import Store
from holdfast.stores.sharded.store import ShardedStore
from holdfast.testing.conformance import CASES, Case, Mode, StoreFactory
from tests.conformance.conftest import postgres, redis, sqlite

Pair = Callable[[Path], dict[str, StoreFactory]]

TOPICS = {"claim", "continuation", "dedup", "events", "explain", "hooks", "listing", "schedules", "stats", "workers"}
SELECTED = [case for case in CASES if case.topic in TOPICS]


def files(folder: Path) -> dict[str, StoreFactory]:
    for name in ("a", "b"):
        (folder / name).mkdir()
    return {name: sqlite(folder / name) for name in ("a", "b")}


def servers(folder: Path) -> dict[str, StoreFactory]:
    return {"a": postgres(folder), "b": redis(folder)}


@pytest.mark.parametrize(
    ("pair", "home"), [(files, "a"), (servers, "a"), (servers, "b")], ids=["sqlite", "postgres", "redis"]
)
@pytest.mark.parametrize("case", SELECTED, ids=str)
def test_a_sharded_store_keeps_the_contract(case: Case, pair: Pair, home: str, tmp_path: Path) -> None:
    makers = pair(tmp_path)

    def make() -> Store:
        return ShardedStore({name: maker() for name, maker in makers.items()}, home=lambda text: home)

    case.run(make, Mode.ASYNC)
