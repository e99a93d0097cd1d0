"""A simulation on a memory store: it runs, its results match its catalogue, and two runs are equal."""

from __future__ import annotations

import pytest

from holdfast import Client, Worker
from holdfast.config import CATALOGUE
from holdfast.simulation import Duration, Progress, SimulationReport, WorkKind, simulate, simulated
from holdfast.stores.memory import MemoryStore

AT_ONCE = [
    WorkKind(
        name=kind.name, duration=Duration("uniform", (0, 0.002)), outcome=kind.outcome, retryable=kind.retryable,
        fail_times=kind.fail_times, weight=kind.weight,
    )
    for kind in CATALOGUE
]  # fmt: skip


async def run(kinds: list[WorkKind], reported: list[Progress]) -> SimulationReport:
    async with Client(MemoryStore(), simulated(kinds)) as client, Worker(client, concurrency=20, poll_interval=0.05):
        return await simulate(client, kinds, jobs=60, seed=7, timeout=60, emit=reported.append)


async def test_everything_comes_as_predicted_and_the_same_twice() -> None:
    reported: list[Progress] = []

    one, other = await run(AT_ONCE, reported), await run(AT_ONCE, [])

    assert one.passed
    assert one.digest == other.digest
    assert {kind.kind: sum(kind.outcomes.values()) for kind in one.kinds}["quick"] == 28
    assert one.retries == sum(kind.jobs * (kind.predicted_attempts - 1) for kind in one.kinds)
    assert one.latency is not None
    assert 0 < one.latency.median <= one.latency.p95 <= one.latency.p99 <= one.latency.most
    assert one.throughput > 0
    assert reported[-1].ended == 60


async def test_what_does_not_come_as_predicted_is_counted() -> None:
    liars = [WorkKind(name="quick", duration=Duration("fixed", (0,)), outcome="cancel")]
    async with Client(MemoryStore(), simulated(liars)) as client, Worker(client, poll_interval=0.05):
        found = await simulate(client, [WorkKind(name="quick")], jobs=5, timeout=30)

    assert not found.passed
    assert found.wrong == 5


async def test_jobs_that_no_worker_runs_are_wrong_after_the_timeout() -> None:
    kinds = [WorkKind(name="quick")]
    async with Client(MemoryStore(), simulated(kinds)) as client:
        found = await simulate(client, kinds, jobs=3, timeout=0)

    assert found.kinds[0].outcomes == {"pending": 3}
    assert not found.passed


@pytest.mark.parametrize("seed", [0, 1])
async def test_a_seed_makes_a_load_of_its_own(seed: int) -> None:
    kinds = [WorkKind(name="quick", duration=Duration("uniform", (0, 0.001)))]
    async with Client(MemoryStore(), simulated(kinds)) as client, Worker(client, poll_interval=0.05):
        one = await simulate(client, kinds, jobs=5, seed=seed, timeout=30)
        other = await simulate(client, kinds, jobs=5, seed=seed + 1, timeout=30)

    assert one.passed
    assert other.passed
    assert one.digest != other.digest
