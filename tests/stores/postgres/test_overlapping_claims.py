"""Overlapping claims of one lane: a change of the lane during a claim is not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.core.ids import new_token
from holdfast.core.lanes import LaneRule
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.verbs import claim_lanes
from holdfast.stores.sql.lane_pass import choose_jobs
from holdfast.testing.builders import completed
from holdfast.testing.lanes import laned, limit, order
from tests.waiting import TIMEOUT, wait_until

_BLOCKED = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and position(%s in query) > 0"


def claim(store: PostgresStore) -> list[Record]:
    return store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 10, "worker", new_token()))


@pytest.mark.parametrize("lane", [limit, order])
def test_a_lane_that_is_released_while_a_claim_parks_its_track_is_read_again(
    store: PostgresStore,
    connection: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    lane: Callable[[], LaneRule],
) -> None:
    """The first claim has read that the lane is full. A second one reads the change before the first one commits."""
    running, waiting = laned(lane()), laned(lane())
    store.perform_sync(Start((running,)))
    (job,) = claim(store)
    store.perform_sync(Start((waiting,)))
    read, go_on = threading.Event(), threading.Event()

    def stop_once(*given: Any, **named: Any) -> Any:
        if not read.is_set():
            read.set()
            assert go_on.wait(TIMEOUT)
        return choose_jobs(*given, **named)

    monkeypatch.setattr(claim_lanes, "choose_jobs", stop_once)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(claim, store)
        assert read.wait(TIMEOUT)
        store.perform_sync(Settle((completed(job),)))
        second = pool.submit(claim, store)
        wait_until(lambda: second.done() or connection.execute(_BLOCKED, [store.schema]).fetchone() != (0,))
        go_on.set()
        claimed = [*first.result(TIMEOUT), *second.result(TIMEOUT), *claim(store)]

    assert [each.id for each in claimed] == [waiting.id]
