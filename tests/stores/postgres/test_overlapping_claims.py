"""A worker that drains many lanes: two of its claims run at the same time, and the limits stay exact."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, TypeVar

import pytest

from holdfast import Client, Jobs, Limit, Order, Worker
from holdfast.engine.operations import ClaimJobs, Operation
from holdfast.stores.postgres import PostgresStore
from tests.worker.harness import in_time

R = TypeVar("R")

LANES = 600
JOBS_PER_LANE = 3
SLOTS = 400


@pytest.mark.parametrize("lanes", [Limit("customer", 1, by="customer"), Order("account", by="customer")])
async def test_claims_of_many_lanes_overlap_and_run_one_job_per_lane_at_a_time(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, lanes: Any
) -> None:
    jobs = Jobs()
    runs: Counter[int] = Counter()
    running: Counter[int] = Counter()
    order: dict[int, list[int]] = {}
    done = asyncio.Event()

    @jobs.job(limits=[lanes])
    async def note(customer: int, number: int) -> None:
        runs[number] += 1
        running[customer] += 1
        order.setdefault(customer, []).append(number)
        await asyncio.sleep(0)
        assert running[customer] == 1
        running[customer] -= 1
        if len(runs) == LANES * JOBS_PER_LANE:
            done.set()

    open_claims = most = 0
    perform = PostgresStore.perform

    async def counting(self: PostgresStore, operation: Operation[R]) -> R:
        nonlocal open_claims, most
        is_claim = isinstance(operation, ClaimJobs)
        open_claims += is_claim
        most = max(most, open_claims)
        try:
            return await perform(self, operation)
        finally:
            open_claims -= is_claim

    monkeypatch.setattr(PostgresStore, "perform", counting)
    client = Client(store, jobs)
    await client.start_many([note.bind(number % LANES, number) for number in range(LANES * JOBS_PER_LANE)])

    async with Worker(client, concurrency=SLOTS):
        await in_time(done.wait())

    assert most == 2
    assert set(runs.values()) == {1}
    if isinstance(lanes, Order):
        assert all(numbers == sorted(numbers) for numbers in order.values())
