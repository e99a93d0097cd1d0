"""A process that stops in the middle of a claim keeps its lanes only until the server ends its transaction."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from holdfast.core.ids import new_token
from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimJobs, Filter, ListJobs, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection import connect
from holdfast.stores.postgres.verbs import claim_lanes
from holdfast.stores.sql.lane_pass import choose_jobs
from holdfast.testing.lanes import laned, limit
from tests.servers.postgres import fresh_address
from tests.waiting import TIMEOUT, wait_until


def claim(store: PostgresStore) -> list[Record]:
    return store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 10, "worker", new_token()))


def test_the_lanes_of_a_frozen_claim_are_claimed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "MARGIN_SECONDS", -24.0)  # 6 seconds, instead of 35
    address = fresh_address()
    frozen, other = PostgresStore(address), PostgresStore(address)
    begun, thawed = threading.Event(), threading.Event()

    def stop_once(*given: Any, **named: Any) -> Any:
        if not begun.is_set():
            begun.set()
            assert thawed.wait(TIMEOUT)
        return choose_jobs(*given, **named)

    monkeypatch.setattr(claim_lanes, "choose_jobs", stop_once)
    other.perform_sync(Start(tuple(laned(limit(2)) for _ in range(4))))
    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(claim, frozen)
        assert begun.wait(TIMEOUT)
        assert claim(other) == []

        taken: list[Record] = []

        def claims() -> bool:
            taken.extend(claim(other))
            return bool(taken)

        wait_until(claims)
        thawed.set()

        # It claims nothing: its session has ended, and a repetition finds the lane full.
        with suppress(StoreUnavailable):
            assert stopped.result(TIMEOUT) == []
    running = other.perform_sync(ListJobs(Filter(statuses=(Status.RUNNING,)), limit=10))
    assert {job.id for job in running} == {job.id for job in taken}
    assert len(taken) == 2
    frozen.close_sync()
    other.close_sync()
