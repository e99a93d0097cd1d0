"""The same catalogue, on every store that processes can share: it ends as predicted, the same way each time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import Client, Worker
from holdfast.simulation import Duration, SimulationReport, WorkKind, simulate, simulated
from holdfast.stores.memory import MemoryStore
from holdfast.supervisor import Supervisor
from tests.supervisor.ground import ADDRESSES, PATIENCE, QUICK
from tests.worker.stage import Ear

KINDS = (
    WorkKind(name="quick", duration=Duration("uniform", (0, 0.02)), weight=4),
    WorkKind(name="flaky", duration=Duration("exponential", (0.01,)), fail_times=2),
    WorkKind(name="broken", duration=Duration("fixed", (0.01,)), outcome="fail", retryable=False),
    WorkKind(name="unwanted", duration=Duration("fixed", (0,)), outcome="cancel"),
)


async def predicted() -> SimulationReport:
    """The same load in memory, by one worker."""
    async with Client(MemoryStore(), simulated(KINDS)) as client, Worker(client, concurrency=20, poll_interval=0.05):
        return await simulate(client, KINDS, jobs=80, seed=3, timeout=PATIENCE)


@pytest.mark.parametrize("store", ADDRESSES)
async def test_a_catalogue_ends_the_same_way_on_every_store(store: str, tmp_path: Path) -> None:
    address, ear = ADDRESSES[store](tmp_path), Ear()
    supervisor = Supervisor(address, groups=[replace(QUICK, lease=10)], work_kinds=KINDS, observers=[ear])
    running = asyncio.create_task(supervisor.run())
    async with Client(address, simulated(KINDS)) as client:
        try:
            one = await simulate(client, KINDS, jobs=80, seed=3, timeout=PATIENCE)
            other = await simulate(client, KINDS, jobs=80, seed=3, timeout=PATIENCE)
        finally:
            supervisor.stop()
            await running

    assert one.passed, one
    assert one.digest == other.digest == (await predicted()).digest
    assert supervisor.clean
    assert not ear.find("process_died")
