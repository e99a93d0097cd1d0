"""A sharded store of a PostgreSQL database and a Redis namespace keeps the contract, with everything on one of them.

A selection: every case runs on two memory stores and on two SQLite files.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.engine.store import Store
from holdfast.stores.sharded.store import ShardedStore
from holdfast.testing.conformance import CASES, Case, Mode
from tests.conformance.conftest import postgres, redis

TOPICS = {"claim", "continuation", "dedup", "events", "explain", "hooks", "listing", "schedules", "stats", "workers"}
SELECTED = [case for case in CASES if case.topic in TOPICS]


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("home", ["postgres", "redis"])
@pytest.mark.parametrize("case", SELECTED, ids=str)
def test_a_sharded_store_of_servers_keeps_the_contract(case: Case, home: str, mode: Mode, tmp_path: Path) -> None:
    makers = {"postgres": postgres(tmp_path), "redis": redis(tmp_path)}

    def make() -> Store:
        return ShardedStore({name: maker() for name, maker in makers.items()}, home=lambda text: home)

    case.run(make, mode)
