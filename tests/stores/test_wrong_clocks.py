"""Due times and leases use the clock of the server. A wrong clock of a worker's machine changes neither."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from holdfast.core.clock import duration
from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, Reap, Reaped, Start, TypeTerms
from holdfast.engine.store import Store
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.redis import RedisStore
from holdfast.testing.builders import new_job
from tests.servers.postgres_schemas import emptied_address
from tests.servers.redis import shared_redis

STORES: dict[str, Callable[[], Store]] = {
    "postgres": lambda: PostgresStore(emptied_address()),
    "redis": lambda: RedisStore(shared_redis().address()),
}
WRONG = timedelta(days=1)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("error", [WRONG, -WRONG], ids=["fast", "slow"])
def test_a_wrong_clock_of_a_worker_changes_no_due_time_and_no_lease(store: str, error: timedelta) -> None:
    with opened(STORES[store]()) as used:
        early, late = new_job(), new_job(delay=3600)
        with time_machine.travel(datetime.now(UTC) + error, tick=True):
            used.perform_sync(Start((early, late)))

            claimed = claim(used)

            assert [job.id for job in claimed] == [early.id]
            assert reap(used) == []
        assert reap(used) == []
        assert claim(used) == []


@contextmanager
def opened(store: Store) -> Generator[Store]:
    store.open_sync()
    try:
        yield store
    finally:
        store.close_sync()


def claim(store: Store) -> list[Record]:
    terms = TypeTerms("resize", duration(60), 25)
    return store.perform_sync(ClaimJobs((terms,), 10, "worker-1", new_token(), False))


def reap(store: Store) -> list[Reaped]:
    return store.perform_sync(Reap(("resize",), (), 100))
